"""The clock and chance in a Python file, found without running it.

What a Python function of a transform does is in no plan of Spark's. A name such as `random.random`
or `datetime.now` tells of it; that a name is there does not prove that a row depends on it.
"""

import ast
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

# Modules of which every function gives another value the next time.
_MODULES = ("random", "secrets", "numpy.random")
_FUNCTIONS = frozenset(
    re.findall(
        r"[\w.]+",
        """
        uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7 os.urandom
        time.time time.time_ns time.monotonic time.monotonic_ns
        time.perf_counter time.perf_counter_ns
        time.localtime time.gmtime time.ctime time.strftime
        datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today
        pandas.Timestamp.now pandas.Timestamp.utcnow pandas.Timestamp.today
        """,
    )
)
# With a seed, or with a time to convert, they give the same each time.
_REPEATABLE_WITH_ARGUMENT = {
    "random.Random": 0,
    "random.seed": 0,
    "numpy.random.seed": 0,
    "numpy.random.default_rng": 0,
    "numpy.random.RandomState": 0,
    "numpy.random.Generator": 0,
    "time.localtime": 0,
    "time.gmtime": 0,
    "time.ctime": 0,
    "time.strftime": 1,
}


class Unrepeatable(NamedTuple):
    """A name that stands for the clock or for chance.

    Attributes:
        line: 1-based.
        name: With its module, such as `datetime.datetime.now`.
    """

    line: int
    name: str


def unrepeatable_names(module: ast.Module, without: Collection[str] = ()) -> list[Unrepeatable]:
    """What a Python file names that gives another value the next time, in the file's order.

    Args:
        without: Functions and classes of the file's top level that are not looked into.
    """
    imported = dict(_imports(module))
    seeded = {
        id(call.func)
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and _repeatable(call, imported)
    }
    found = set()
    for statement in module.body:
        if getattr(statement, "name", None) in without:
            continue
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name | ast.Attribute) or id(node) in seeded:
                continue
            name = _full_name(node, imported)
            if name is not None and _is_unrepeatable(name):
                found.add(Unrepeatable(node.lineno, name))
    return sorted(found)


def _imports(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that an import binds -> what it stands for."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _full_name(node: ast.AST, imported: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return imported.get(node.id)
    if isinstance(node, ast.Attribute):
        before = _full_name(node.value, imported)
        return None if before is None else f"{before}.{node.attr}"
    return None


def _repeatable(call: ast.Call, imported: dict[str, str]) -> bool:
    needed = _REPEATABLE_WITH_ARGUMENT.get(_full_name(call.func, imported) or "")
    return needed is not None and len(call.args) + len(call.keywords) > needed


def _is_unrepeatable(name: str) -> bool:
    return name in _FUNCTIONS or name.startswith(tuple(f"{module}." for module in _MODULES))
