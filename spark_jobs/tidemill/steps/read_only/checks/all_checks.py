"""Check: finds mistakes in pipelines without a JVM, a database or data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tidemill.contract.errors import SpecError
from tidemill.contract.project import TransformDoubled, is_left_out, search_path
from tidemill.spec import json_schema as schema
from tidemill.spec.catalog import SpecFile, find, paths_of, pipelines_in
from tidemill.spec.effective import effective
from tidemill.spec.object_root import disk_settings, object_root
from tidemill.spec.pipeline_files import suite_file, transform_file
from tidemill.steps.read_only.checks.chains import problems_of_chains
from tidemill.steps.read_only.checks.expressions import problems_of_expressions
from tidemill.steps.read_only.checks.problem import Places, Problem
from tidemill.steps.read_only.checks.result import problems_of_result
from tidemill.steps.read_only.checks.result_columns import result_columns
from tidemill.steps.read_only.checks.suite import problems_of_suite
from tidemill.steps.read_only.checks.target_class import problems_of_target_classes
from tidemill.steps.read_only.checks.transform import problems_of_transform


def check(names: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """Check pipelines: specs, transforms, suites, classes of targets, and the editors' JSON Schema.

    Args:
        names: The pipelines. Where none is given, all; of the examples beside other projects, none.

    Raises:
        UsageError: there is no pipeline of one of the names.
    """
    for name in names:
        find(name, environ)
    problems = []
    seen: dict[str, Path] = {}
    for project in search_path(environ):
        for path in sorted(project.specs.rglob("*.yml")):
            if path.stem in names if names else not is_left_out(project, environ):
                problems.append(Problem(path, None, "is not read", f"Name it {path.stem}.yaml."))
        for one in (one for path in paths_of(project) for one in pipelines_in(project, path)):
            if names and one.name not in names:
                continue
            if one.name in seen:
                what = f"defines the same pipeline as {seen[one.name]}: {one.name}"
                remedy = "Rename one of them, with its transform and suite."
                problems.append(Problem(one.path, None, what, remedy))
            else:
                seen[one.name] = one.path
                if names or not is_left_out(project, environ):
                    problems.extend(_of_pipeline(one, environ))
    if not names:
        problems.extend(_of_schema())
    # A file that serves many pipelines is wrong once.
    return list(dict.fromkeys(problems))


def _of_pipeline(one: SpecFile, environ: Mapping[str, str]) -> Iterator[Problem]:
    try:
        spec = one.load(environ)
    except SpecError as error:
        # Which transform and suite it means is then unknown too.
        for said in (error, *error.further):
            yield Problem.said(said.path, said.line, said.what, said.remedy)
        return
    places = Places(one.path, effective(one.path, one.name, environ).origins)
    for at, what, remedy in problems_of_chains(one.name, spec, environ):
        yield places.problem(at, what, remedy)
    yield from problems_of_target_classes(spec, places, one.project)
    root = object_root(environ)
    for at, what, remedy in disk_settings(spec) if root is not None else ():
        yield places.problem(at, f"{what}, and TIDEMILL_ROOT is {root}", remedy)
    transform: Path | None
    try:
        transform = transform_file(one.name, spec, one.project, search_path(environ))
    except TransformDoubled as error:
        yield Problem.said(error.path, None, error.what, error.remedy)
        transform, result = None, None
    else:
        yield from problems_of_transform(transform, spec)
        result = result_columns(spec, transform)
    yield from problems_of_expressions(spec, places, transform, result)
    if result is not None:
        yield from problems_of_result(spec, places, result)
    if spec.published:
        suite = suite_file(one.name, spec, one.project, search_path(environ))
        yield from problems_of_suite(suite, result)


def _of_schema() -> Iterator[Problem]:
    path = schema.PATH
    current = json.dumps(schema.spec_schema(), indent=2) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != current:
        what = "is not the JSON Schema of this version's specs"
        yield Problem(path, None, what, "Write it again: make schema")
