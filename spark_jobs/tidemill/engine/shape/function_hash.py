"""The hash of a Python function's code, independent of its place in the file.

A pickled function differs with every line above it. So its bytecode is taken, with the constants,
the functions and the classes that it uses, but for those of libraries.
"""

import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

LIBRARIES = tuple(
    sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
)
PLAIN = (str, bytes, int, float, bool, complex, type(None))
# The line of a class, which Python 3.13 and newer keep in it.
PLACE = "__firstlineno__"
# From Python 3.14 on a function without a docstring has no None in its place.
HAS_DOCSTRING: int = getattr(inspect, "CO_HAS_DOCSTRING", 0)


def hash_of_function(function: Any) -> str:
    """A short hash, the same for the same code in every process of one Python."""
    return hashlib.sha256("\n".join(_told(function, set())).encode()).hexdigest()[:12]


def _told(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, PLAIN):
        yield repr(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _told(part, seen)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(map(repr, value))
    elif isinstance(value, CodeType):
        yield from _of_code(value, seen)
    elif id(value) in seen:
        yield "again"
    else:
        # Only for as long as the walk lasts, in which nothing of it is freed.
        seen.add(id(value))
        yield from _of_object(value, seen)


def _of_object(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, MethodType):
        yield from _told(value.__func__, seen)
        yield from _told(value.__self__, seen)
    elif isinstance(value, FunctionType) and _of_the_user(value):
        yield from _of_function(value, seen)
    elif isinstance(value, type) and _of_the_user(value):
        yield value.__qualname__
        for name, part in sorted(vars(value).items()):
            counts = isinstance(part, (FunctionType, staticmethod, classmethod, property, *PLAIN))
            if counts and name != PLACE:
                yield name
                yield from _told(getattr(part, "__func__", getattr(part, "fget", part)), seen)
    elif isinstance(value, list):
        for part in value:
            yield from _told(part, seen)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield repr(name)
            yield from _told(part, seen)
    else:
        yield str(getattr(value, "__qualname__", type(value).__qualname__))
        if _of_the_user(type(value)):
            yield from _told(type(value), seen)
            yield from _told(getattr(value, "__dict__", {}), seen)


def _of_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _told(function.__code__, seen)
    yield from _told(function.__defaults__, seen)
    yield from _told(function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        yield from _told(cell.cell_contents, seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _told(function.__globals__[name], seen)


def _of_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    yield from _told(code.co_consts[1:] if _begins_with_docstring(code) else code.co_consts, seen)


def _begins_with_docstring(code: CodeType) -> bool:
    """Whether the first constant is a docstring, or the None of a function without one."""
    if code.co_name.startswith("<"):
        return False
    return not HAS_DOCSTRING or bool(code.co_flags & HAS_DOCSTRING)


def _names(code: CodeType) -> set[str]:
    """Names that code and the functions within it look up."""
    within = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(constant) for constant in within))


def _of_the_user(value: Any) -> bool:
    """Whether its code can change with the pipeline: it is of no library."""
    module = sys.modules.get(str(getattr(value, "__module__", "")))
    if module is None:
        # The transform's file, which is not a module that others import.
        return True
    file = getattr(module, "__file__", None)
    return file is not None and not file.startswith(LIBRARIES)
