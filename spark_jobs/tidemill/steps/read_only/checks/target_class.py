"""Checks the class of a target of the user's own without running it."""

import ast
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from tidemill.contract.project import Project
from tidemill.spec.spec import Spec
from tidemill.spec.targets import PythonTarget
from tidemill.steps.read_only.checks.problem import Places, Problem

OPTIONS = ("pipeline", "epoch", "say")
# Method -> its arguments by place, those by name, and how it is written.
METHODS = {
    "__init__": (("options",), OPTIONS, "def __init__(self, options, *, pipeline, epoch, say): …"),
    "find": (("event",), (), "def find(self, event): …"),
    "apply": (("event", "payload"), (), "def apply(self, event, payload): …"),
}


def problems_of_target_classes(spec: Spec, places: Places, project: Project) -> Iterator[Problem]:
    """The problems with the classes that `publish` names by `kind: python`.

    Args:
        places: Where the values of the spec come from.
        project: The project of the spec.
    """
    for number, target in enumerate(spec.publish):
        if not isinstance(target, PythonTarget):
            continue
        module, _, name = target.target.partition(":")
        path = project.target(module)
        if path.is_file():
            yield from _of_file(path, name)
        elif find_spec(module.partition(".")[0]) is None:
            yield places.problem(
                ("publish", number, "target"),
                f"there is no {path}, and no package '{module}' is installed",
                "Write the class there, as docs/adding-a-target.md says, or install its package.",
            )


def _of_file(path: Path, name: str) -> Iterator[Problem]:
    try:
        module = ast.parse(path.read_bytes(), path)
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        yield Problem(path, line, f"is not valid Python: {error}", "Fix the syntax error.")
        return
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if name in classes:
        yield from _of_class(path, classes[name])
    elif name not in _bound(module):
        near = get_close_matches(name, classes, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else f"Write: class {name}: …"
        yield Problem(path, None, f"has no class '{name}'", remedy)


def _of_class(path: Path, found: ast.ClassDef) -> Iterator[Problem]:
    if found.decorator_list:
        # A decorator may add methods.
        return
    defined = {node.name: node for node in found.body if isinstance(node, ast.FunctionDef)}
    late = {node.name: node for node in found.body if isinstance(node, ast.AsyncFunctionDef)}
    for name, (by_place, by_name, written) in METHODS.items():
        if method := late.get(name):
            what = f"{found.name}.{name} is asynchronous, and is called as a function"
            yield Problem(path, method.lineno, what, f"Write: {written}")
        elif name in defined:
            method_given = defined[name]
            if not method_given.decorator_list and not _takes(
                method_given.args, len(by_place) + 1, by_name
            ):
                taken = ", ".join((*by_place, *by_name))
                what = f"{found.name}.{name} does not take the arguments {taken}"
                yield Problem(path, method_given.lineno, what, f"Write: {written}")
        elif not found.bases and name not in _assigned(found):
            what = f"{found.name} has no method '{name}'"
            yield Problem(path, found.lineno, what, f"Write: {written}")


def _takes(given: ast.arguments, places: int, names: Sequence[str]) -> bool:
    """Whether a function can be called with so many arguments by place, and these by name."""
    ordered = [*given.posonlyargs, *given.args]
    if len(ordered) < places and given.vararg is None:
        return False
    by_place = {one.arg for one in given.args if one in ordered[:places]}
    by_name = {one.arg for one in (*given.args, *given.kwonlyargs)} - by_place
    if by_place & {*names} or (given.kwarg is None and not {*names} <= by_name):
        return False
    needed = {one.arg for one in ordered[places : len(ordered) - len(given.defaults)]}
    needed |= {
        one.arg
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default is None
    }
    return needed <= {*names} & by_name


def _bound(module: ast.Module) -> set[str]:
    """The names that a module imports or assigns at its top level."""
    imports = (node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    return {one.asname or one.name for node in imports for one in node.names} | _assigned(module)


def _assigned(found: ast.Module | ast.ClassDef) -> set[str]:
    assigned = (node for node in found.body if isinstance(node, ast.Assign))
    return {
        target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)
    }
