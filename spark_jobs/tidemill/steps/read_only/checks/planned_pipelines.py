"""Plans pipelines on inputs without rows in one Spark session, and reports what does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.project import is_left_out, search_path
from tidemill.spec.catalog import SpecFile, find, spec_files
from tidemill.spec.complaints import Location
from tidemill.spec.effective import effective
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.pipeline_files import NO_TRANSFORM
from tidemill.steps.read_only.checks.own_expectations import problems_of_own
from tidemill.steps.read_only.checks.problem import Places, Problem, line_of
from tidemill.steps.read_only.checks.result import problems_of_result
from tidemill.steps.read_only.checks.suite import problems_of_suite
from tidemill.steps.read_only.checks.suite_types import problems_of_types
from tidemill.toolchain.spark_conf import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def check_planned(
    names: Sequence[str], found: Sequence[Problem], environ: Mapping[str, str] = os.environ
) -> list[Problem]:
    """The problems that only Spark's own plan shows, after those of `check`.

    Args:
        names: The pipelines; all where none is given, without examples beside other projects.
        found: What `check` has found without Spark; what says the same of the same line is left
            out, and so is a warning of it that has become certain.
    """
    # Spark is imported here so that a check without it starts no JVM.
    from tidemill.engine.session import open_planning_session

    with TemporaryDirectory(prefix="tidemill-check-") as root:
        opened, problems = _opened(names, Path(root), environ)
        if opened:
            session = open_planning_session([one.pipeline for one in opened.values()])
            plans = _Plans(session, opened)
            for name in opened:
                if _is_meant(opened[name].file, names, environ):
                    problems += [p for p in plans.problems_of(name) if not _is_known(p, found)]
    certain = {(p.file, p.line) for p in problems}
    kept = [p for p in found if not (p.warning and (p.file, p.line) in certain)]
    return list(dict.fromkeys((*kept, *problems)))


@dataclass(frozen=True)
class _Opened:
    file: SpecFile
    pipeline: Pipeline
    places: Places


def _opened(
    names: Sequence[str], root: Path, environ: Mapping[str, str]
) -> tuple[dict[str, _Opened], list[Problem]]:
    """The pipelines that load, with those whose tables they read."""
    opened: dict[str, _Opened] = {}
    problems: list[Problem] = []
    waiting = [one.name for one in spec_files(environ) if _is_meant(one, names, environ)]
    while waiting:
        name = waiting.pop(0)
        if name in opened:
            continue
        with suppress(UsageError):
            file = find(name, environ)
            spec, others = file.load(environ), search_path(environ)
            pipeline = Pipeline(
                name, spec, file.project, Layout(root, name), others=others, file=file.path
            )
            places = Places(file.path, effective(file.path, name, environ).origins)
            try:
                session_conf(spec, environ)
            except TidemillError as error:
                problems.append(_problem(error, places))
                continue
            if pipeline.transform_file.is_file():
                opened[name] = _Opened(file, pipeline, places)
            waiting += [up for one in spec.statics.values() if (up := one.reads_pipeline)]
    return opened, problems


def _is_meant(one: SpecFile, names: Sequence[str], environ: Mapping[str, str]) -> bool:
    return one.name in names if names else not is_left_out(one.project, environ)


@dataclass
class _Plans:
    session: SparkSession
    opened: Mapping[str, _Opened]
    _results: dict[str, StructType | None] = field(default_factory=dict)
    _errors: dict[str, tuple[TidemillError, ...]] = field(default_factory=dict)

    def problems_of(self, name: str) -> Iterator[Problem]:
        result = self._result(name)
        one = self.opened[name]
        spec, places = one.pipeline.spec, one.places
        problems: list[Problem] = []
        if result is not None:
            problems += problems_of_result(spec, places, tuple(result.names))
        if result is not None and spec.published:
            suite = one.pipeline.suite_file
            problems += problems_of_suite(suite, tuple(result.names))
            types = {each.name: type(each.dataType).__name__ for each in result.fields}
            problems += problems_of_types(suite, types)
            problems += problems_of_own(suite)
        yield from problems
        for error in self._errors.get(name, ()):
            column = error.data.get("column")
            if column is None or not any(f"'{column}'" in known.what for known in problems):
                yield _problem(error, places)

    def _result(self, name: str) -> StructType | None:
        """The columns of a pipeline's result; None where it cannot be planned."""
        if name not in self._results:
            # One that reads itself in a circle has none; the circle has been reported.
            self._results[name] = None
            self._results[name] = self._planned(name)
        return self._results[name]

    def _planned(self, name: str) -> StructType | None:
        from tidemill.engine.session import session_within
        from tidemill.engine.shape.empty_plan import plan_without_rows

        pipeline = self.opened[name].pipeline
        upstream = {up for one in pipeline.spec.statics.values() if (up := one.reads_pipeline)}
        tables = {up: self._result(up) if up in self.opened else None for up in upstream}
        known = {up: columns for up, columns in tables.items() if columns is not None}
        if len(known) < len(tables):
            # What is wrong with the other one has been reported, or is when it is named.
            return None
        plan = plan_without_rows(session_within(self.session, pipeline), pipeline, known)
        self._errors[name] = plan.errors
        return plan.result


def _problem(error: TidemillError, places: Places) -> Problem:
    """An error of a plan as a problem, at the line of the file that it names."""
    path = error.data.get("path")
    path = path if isinstance(path, Path) else places.file
    if path not in (places.file, NO_TRANSFORM):
        line = error.data.get("line")
        named = error.data.get("column") or error.data.get("expression")
        if line is None and isinstance(named, str) and path.is_file():
            line = line_of(path.read_text(encoding="utf-8", errors="replace"), named)
        return Problem.said(path, line, error.what, error.remedy)
    said = Problem.said(path, None, error.what, error.remedy)
    return places.problem(_location(error), said.what, said.remedy)


def _location(error: TidemillError) -> Location:
    named = str(error.data.get("field") or "")
    if "EVENT_TIME" in str(error.data.get("condition")):
        named = "event_time"
    return tuple(int(part) if part.isdigit() else part for part in named.split("."))


def _is_known(problem: Problem, found: Sequence[Problem]) -> bool:
    """Whether a certain problem is known of the same line, or of a file if no line is."""
    return any(
        one.file == problem.file and not one.warning and problem.line in (one.line, None)
        for one in found
    )
