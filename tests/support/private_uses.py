"""Finds where our code uses what a library keeps private."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from tests.support.inner_members import members_of
from tests.test_boundaries import modules_of
from tidemill.contract.project import REPOSITORY

# Whether a library documents a name of one of its modules; '' stands for the module itself.
Public = Callable[[str, str], bool]
# What looks past the attributes of an object: `vars(dag)`, and the frames of callers.
_PAST = {"__dict__", "f_back", "f_locals"}
_BY_NAME = {"delattr", "getattr", "hasattr", "setattr"}


def private_imports(source: str, library: str, public: Public) -> list[int]:
    """The lines that import something of a library that is not public."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            imported = [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            imported = [(alias.name, "") for alias in node.names]
        else:
            continue
        found += [
            node.lineno
            for module, name in imported
            if module.partition(".")[0] == library and not public(module, name)
        ]
    return found


def private_attributes(source: str, members: Collection[str] = ()) -> list[int]:
    """The lines that use an attribute which is private, and not one of the module's own.

    Args:
        members: Names without underscore that are private too.
    """
    tree = ast.parse(source)
    own = set(_defined(tree))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            on_itself = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not (on_itself and node.attr in own) and _is_private(node.attr, members):
                found.append(node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            by_name = node.func.id in _BY_NAME and _is_private(str(*named), members)
            if by_name or node.func.id == "vars":
                found.append(node.lineno)
    return found


def private_of_bases(kind: type, library: str) -> set[str]:
    """The names with an underscore that a class of ours shares with its bases of a library."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "cls")
    }
    bases = [one for one in kind.__mro__ if one.__module__.partition(".")[0] == library]
    theirs = {name for one in bases for name in members_of(one)}
    return {name for name in used.union(_defined(tree)) & theirs if _is_private(name, ())}


def sources(folder: Path, adapter: Path) -> Iterator[tuple[Path, str]]:
    """The files of a folder that are not of its adapter, with their text."""
    for file in sorted(folder.rglob("*.py")):
        if adapter not in file.parents:
            yield file, file.read_text(encoding="utf-8")


def lines_found(
    files: Iterable[tuple[Path, str]], look: Callable[[str], Iterable[int]]
) -> list[str]:
    """The places that a look at the text of each file finds, such as `plugins/a.py:3`."""
    return [f"{file.relative_to(REPOSITORY)}:{line}" for file, text in files for line in look(text)]


def own_classes(package: str, folder: Path, adapter: str) -> Iterator[type]:
    """The classes that are defined in a package and not in its adapter.

    Args:
        folder: Where the package is.
        adapter: A package in it.
    """
    for name in modules_of(package, folder):
        if not name.startswith(adapter):
            for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
                if kind.__module__ == name:
                    yield kind


def _is_private(name: str, members: Collection[str]) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return name in members or name in _PAST or (name.startswith("_") and not dunder)


def _defined(tree: ast.AST) -> Iterator[str]:
    """The names that functions, classes and assignments define, also those given to `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
