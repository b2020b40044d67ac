"""Holds what an adapter package declares against the installed versions of what it adapts."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from enum import EnumType
from functools import cache
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def declared(package: ModuleType) -> Mapping[str, tuple[str, ...] | None]:
    """`module:name` -> the arguments of a call, None for an attribute; of all modules."""
    members: dict[str, tuple[str, ...] | None] = {}
    for found in iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(found.name)
        members |= dict.fromkeys(getattr(module, "ATTRIBUTES", ()))
        members |= getattr(module, "CALLS", {})
    return members


def complaint(member: str, arguments: tuple[str, ...] | None) -> str | None:
    """What is wrong with a declared member; None where the installed version has it.

    Args:
        member: Such as `package.module:Class.method`.
        arguments: Those passed by place have their parameter's name, those passed by name end in
            `=`; None for an attribute.
    """
    module, _, path = member.partition(":")
    *above, name = path.split(".")
    try:
        owner: Any = importlib.import_module(module)
        for part in above:
            owner = getattr(owner, part)
    except (ImportError, AttributeError) as error:
        return f"{member}: {error}"
    if arguments is None:
        return None if _has(owner, name) else f"{member} is not there"
    called = getattr(owner, name, None)
    if not callable(called):
        return f"{member} cannot be called"
    return _refusal(member, called, arguments, bound=_is_method(owner, name))


def members_of(kind: type) -> frozenset[str]:
    """The attributes of a class, with those that its methods and its base classes' give `self`."""
    return frozenset(dir(kind)).union(*map(_own_members, kind.__mro__))


def _has(owner: Any, name: str) -> bool:
    return hasattr(owner, name) or (isinstance(owner, type) and name in members_of(owner))


@cache
def _own_members(kind: type) -> frozenset[str]:
    return frozenset({*inspect.get_annotations(kind), *_given_to_self(kind)})


def _given_to_self(kind: type) -> Iterator[str]:
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if ast.unparse(node.value) == "self" else ()


def _is_method(owner: Any, name: str) -> bool:
    """Whether what the class has here still lacks its `self`."""
    return isinstance(owner, type) and inspect.isfunction(inspect.getattr_static(owner, name))


def _refusal(member: str, called: Any, arguments: tuple[str, ...], *, bound: bool) -> str | None:
    # From Python 3.12 on the signature of an enumeration says `*values`, whatever it takes.
    is_enum = isinstance(called, EnumType)
    signature = inspect.signature(EnumType.__call__.__get__(called) if is_enum else called)
    by_place = [one for one in arguments if not one.endswith("=")]
    by_name = {one.removesuffix("="): None for one in arguments if one.endswith("=")}
    try:
        given = signature.bind(*([None] if bound else []), *by_place, **by_name).arguments
    except TypeError as error:
        return f"{member}: {error}"
    misplaced = [one for one in by_place if one in signature.parameters and given.get(one) != one]
    unknown = [one for one in by_place if one not in signature.parameters]
    if misplaced or unknown:
        return f"{member} takes {signature}, not {', '.join(by_place)}"
    return None
