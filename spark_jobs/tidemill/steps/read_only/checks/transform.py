"""Checks a pipeline's transform without running it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tidemill.contract.user_code import clock_or_chance
from tidemill.spec.sinks import ForeachBatchSink, ForeachSink
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.arguments import problems_of_arguments
from tidemill.steps.read_only.checks.problem import Problem, write_or_rename
from tidemill.steps.read_only.checks.sql import problems_of_sql


def problems_of_transform(path: Path, spec: Spec) -> Iterator[Problem]:
    """The problems with a transform in Python or SQL; a file that is missing is one.

    Args:
        path: The transform's file.
    """
    if not path.is_file():
        remedy = write_or_rename(path, "transform: none", "publishes the rows as they come")
        yield Problem(path, None, "there is no such transform", remedy)
        return
    if path.suffix == ".sql":
        yield from problems_of_sql(path, spec)
        return
    sink = spec.sink
    try:
        module = ast.parse(path.read_text(encoding="utf-8"), path)
    except SyntaxError as error:
        yield Problem(path, error.lineno, f"is not Python: {error.msg}", "Fix it.")
        return
    except ValueError as error:
        yield Problem(path, None, f"is not Python: {error}", "Save it as UTF-8 text.")
        return
    defined = _defined(module)
    if not {"transform", "*"} & defined:
        yield Problem(path, None, "has no function 'transform'", "Add: def transform(rows): …")
    for line, what, remedy in problems_of_arguments(module, (*spec.sources, *spec.statics)):
        yield Problem(path, line, what, remedy)
    if isinstance(sink, ForeachBatchSink) and not {"foreach_batch", "*"} & defined:
        remedy = "Add: def foreach_batch(rows, batch_id): …"
        yield Problem(path, None, "has no function 'foreach_batch', which the sink calls", remedy)
    if isinstance(sink, ForeachSink) and not {"foreach", "ForeachWriter", "*"} & defined:
        remedy = "Add: def foreach(row): …, or a class ForeachWriter."
        yield Problem(path, None, "has neither 'foreach' nor 'ForeachWriter' for the sink", remedy)
    looked_into = spec.published and spec.deterministic
    for line, name in clock_or_chance(path) if looked_into else ():
        what = f"names {name}: a row that depends on it is another one the next time"
        remedy = (
            "Compute what is published from the row alone; for a load time add statics: {batch: "
            "{kind: batch}}; or accept it with deterministic: false."
        )
        yield Problem(path, line, what, remedy, warning=True)


def _defined(module: ast.Module) -> set[str]:
    """The names that a module binds at its top level."""
    names = set()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names.update((alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names
