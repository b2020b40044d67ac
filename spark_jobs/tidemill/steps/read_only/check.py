"""Check: finds mistakes in pipelines without a JVM, a database or data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project, TransformDoubled, find, search_path
from tidemill.spec import json_schema as schema
from tidemill.spec.load import lines_of, load_spec
from tidemill.spec.pipeline_files import suite_file, transform_file
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.check_chains import problems_of_chains
from tidemill.steps.read_only.check_expressions import problems_of_expressions
from tidemill.steps.read_only.check_result import problems_of_result
from tidemill.steps.read_only.check_suite import problems_of_suite
from tidemill.steps.read_only.check_transform import problems_of_transform
from tidemill.steps.read_only.problem import Problem
from tidemill.steps.read_only.result_columns import result_columns


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
        problems.extend(_unread(project, names))
    if not names:
        problems.extend(_of_schema())
    return problems


def _unread(project: Project, names: Sequence[str]) -> Iterator[Problem]:
    """The specs in folders in which no pipeline is looked for."""
    for path in sorted(project.specs.glob("*/**/*.yaml")):
        if not names or path.stem in names:
            what = "is in a folder of dags/specs, where no spec is read"
            yield Problem(path, None, what, f"Move it to {project.spec(path.stem)}.")


def _of_pipeline(project: Project, path: Path, environ: Mapping[str, str]) -> Iterator[Problem]:
    try:
        spec = load_spec(path, environ)
    except SpecError as error:
        # Which transform and suite it means is then unknown too.
        for one in (error, *error.further):
            yield Problem.said(path, one.line, one.what, one.remedy)
        return
    yield from _of_chains(spec, path, environ)
    transform: Path | None
    try:
        transform = transform_file(path.stem, spec, project, search_path(environ))
    except TransformDoubled as error:
        yield Problem.said(error.path, None, error.what, error.remedy)
        transform, result = None, None
    else:
        yield from problems_of_transform(transform, spec)
        result = result_columns(spec, transform)
    yield from problems_of_expressions(spec, path, transform, result)
    if result is not None:
        yield from problems_of_result(spec, path, result)
    if spec.published:
        suite = suite_file(path.stem, spec, project, search_path(environ))
        yield from problems_of_suite(suite, result)


def _of_chains(spec: Spec, path: Path, environ: Mapping[str, str]) -> Iterator[Problem]:
    lines = lines_of(path.read_text(encoding="utf-8"), path)
    for at, what, remedy in problems_of_chains(path.stem, spec, environ):
        yield Problem(path, lines.get(at), what, remedy)


def _of_schema() -> Iterator[Problem]:
    path = schema.PATH
    current = json.dumps(schema.spec_schema(), indent=2) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != current:
        what = "is not the JSON Schema of this version's specs"
        yield Problem(path, None, what, "Write it again: make schema")
