"""Check: finds mistakes in pipelines without a JVM, a database or data."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project, TransformDoubled, find, search_path
from tidemill.contract.syntax.expressions import misspelt_columns, unknown_columns
from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql
from tidemill.contract.user_code import clock_or_chance
from tidemill.gate.known_expectations import known_expectations
from tidemill.gate.suite import Expectation, SuiteError, load_suite
from tidemill.spec import json_schema as schema
from tidemill.spec.complaints import Location
from tidemill.spec.load import lines_of, load_spec
from tidemill.spec.pipeline_files import suite_file, transform_file
from tidemill.spec.sinks import ForeachBatchSink, ForeachSink
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.check_arguments import problems_of_arguments
from tidemill.steps.read_only.check_chains import problems_of_chains
from tidemill.steps.read_only.check_sql import problems_of_sql


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Args:
        file: Where.
        line: 1-based; None where it is the whole file.
        what: One sentence.
        remedy: What to do about it.
        warning: Whether it may be meant so: somebody has to look, and nothing is refused.
    """

    file: Path
    line: int | None
    what: str
    remedy: str
    warning: bool = False

    @classmethod
    def said(cls, file: Path, line: int | None, what: str, remedy: str) -> Problem:
        """A problem from an error's sentence, which names file and line itself."""
        for place in (f"{file}:{line}: ", f"{file}: ", f"{file} "):
            what = what.removeprefix(place)
        return cls(file, line, what.removesuffix("."), remedy)


def check(names: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """Check pipelines: their specs, transforms and suites, and the editors' JSON Schema.

    Args:
        names: The pipelines; all on the search path where none is given.

    Raises:
        UsageError: there is no pipeline of one of the names.
    """
    for name in names:
        find(name, environ)
    problems = []
    seen: dict[str, Path] = {}
    for project in search_path(environ):
        for path in sorted(project.specs.glob("*.y*ml")):
            if names and path.stem not in names:
                continue
            if path.suffix != ".yaml":
                problems.append(Problem(path, None, "is not read", f"Name it {path.stem}.yaml."))
            elif path.stem in seen:
                what = f"defines the same pipeline as {seen[path.stem]}"
                remedy = "Rename one of them, with its transform and suite."
                problems.append(Problem(path, None, what, remedy))
            else:
                seen[path.stem] = path
                problems.extend(_of_pipeline(project, path, environ))
    if not names:
        problems.extend(_of_schema())
    return problems


def _of_pipeline(project: Project, path: Path, environ: Mapping[str, str]) -> Iterator[Problem]:
    try:
        spec = load_spec(path, environ)
    except SpecError as error:
        # Which transform and suite it means is then unknown too.
        for one in (error, *error.further):
            yield Problem.said(path, one.line, one.what, one.remedy)
        return
    yield from _of_expressions(spec, path)
    yield from _of_chains(spec, path, environ)
    try:
        transform = transform_file(path.stem, spec, project, search_path(environ))
    except TransformDoubled as error:
        yield Problem.said(error.path, None, error.what, error.remedy)
    else:
        yield from _of_transform(transform, spec)
    if spec.published:
        yield from _of_suite(suite_file(path.stem, spec, project, search_path(environ)))


def _of_expressions(spec: Spec, path: Path) -> Iterator[Problem]:
    lines = lines_of(path.read_text(encoding="utf-8"), path)
    partitions = spec.output.partition_by
    places: list[tuple[Location, str, tuple[str, ...]]] = []
    for name, source in spec.sources.items():
        own = (*source.columns, *partitions)
        at = ("sources", name, "row_rules")
        places += [(("output", "partition_by", n), sql, own) for n, sql in partitions.items()]
        places += [(("row_rules", n), sql, own) for n, sql in spec.row_rules.items()]
        places += [((*at, n), sql, own) for n, sql in source.row_rules.items()]
    for at, sql, columns in dict.fromkeys(places):
        field = ".".join(map(str, at))
        near = dict(misspelt_columns(sql, columns))
        # A partition may also be made of the transform's columns, which only Spark knows.
        unknown = unknown_columns(sql, columns) if "row_rules" in at else []
        for word in dict.fromkeys((*near, *unknown)):
            what = f"{field} names '{word}', which is not a column of the source"
            remedy = f"Did you mean '{near[word]}'?" if word in near else _has(columns)
            yield Problem(path, lines.get(at), what, remedy)
        for used in unrepeatable_in_sql(sql, columns) if spec.published else ():
            what = f"{field} uses {used}, which gives another value the next time"
            yield Problem(path, lines.get(at), what, "Compute it from the row.")


def _has(columns: Sequence[str]) -> str:
    return f"It has: {', '.join(columns)}."


def _of_chains(spec: Spec, path: Path, environ: Mapping[str, str]) -> Iterator[Problem]:
    lines = lines_of(path.read_text(encoding="utf-8"), path)
    for at, what, remedy in problems_of_chains(path.stem, spec, environ):
        yield Problem(path, lines.get(at), what, remedy)


def _of_transform(path: Path, spec: Spec) -> Iterator[Problem]:
    if not path.is_file():
        remedy = _write_or_rename(path, "transform: none", "publishes the rows as they come")
        yield Problem(path, None, "there is no such transform", remedy)
        return
    if path.suffix == ".sql":
        for what, remedy in problems_of_sql(path, spec):
            yield Problem(path, None, what, remedy)
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
    for line, name in clock_or_chance(path) if spec.published else ():
        what = f"names {name}: a row that depends on it is another one the next time"
        remedy = "Compute what is published from the row alone."
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


def _of_suite(path: Path) -> Iterator[Problem]:
    if not path.is_file():
        remedy = _write_or_rename(path, "gate: {suite: none}", "judges by row rules and counts")
        yield Problem(path, None, "there is no such suite", remedy)
        return
    try:
        suite = load_suite(path)
    except SuiteError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        yield Problem.said(path, line, error.what, error.remedy)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for expectation in suite.expectations:
        word = f'"{expectation.type}"'
        line = next((number for number, text in enumerate(lines, 1) if word in text), None)
        for what, remedy in _of_expectation(expectation):
            yield Problem(path, line, what, remedy)


def _of_expectation(expectation: Expectation) -> Iterator[tuple[str, str]]:
    known = known_expectations()
    kind = expectation.type
    if not known:
        # Great Expectations is not installed, which the command says.
        return
    if kind not in known:
        near = get_close_matches(kind, known, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Use one that Great Expectations ships."
        yield f"'{kind}' is not an expectation of Great Expectations", remedy
        return
    arguments = known[kind]
    if arguments is None:
        return
    for name in sorted(set(expectation.kwargs) - arguments.names):
        near = get_close_matches(name, arguments.names, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Remove it."
        yield f"{kind} has no argument '{name}'", remedy
    for name in sorted(arguments.required - set(expectation.kwargs)):
        yield f"{kind} lacks its argument '{name}'", "Add it to its kwargs."


def _of_schema() -> Iterator[Problem]:
    path = schema.PATH
    current = json.dumps(schema.spec_schema(), indent=2) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != current:
        what = "is not the JSON Schema of this version's specs"
        yield Problem(path, None, what, "Write it again: make schema")


def _write_or_rename(path: Path, none: str, means: str) -> str:
    """What to do about a missing file; one that another pipeline's name stands for is not meant."""
    taken = {spec.stem for spec in (path.parents[2] / "dags" / "specs").glob("*.yaml")}
    siblings = [one for one in path.parent.glob(f"*{path.suffix}") if one.stem not in taken]
    near = get_close_matches(path.name, [one.name for one in siblings], n=1)
    return (
        f"Did you mean to name it so: {near[0]}?"
        if near
        else (f"Write it, or say in the spec {none}, which {means}.")
    )
