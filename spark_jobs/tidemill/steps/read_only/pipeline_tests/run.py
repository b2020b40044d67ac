"""Runs the tests of a pipeline: each is a preview of its given rows."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from tidemill.contract.log import Log
from tidemill.contract.report import Outcome
from tidemill.spec.catalog import spec_files
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.read_only.pipeline_tests.cases import Case, Expected, Given, path_of, read_cases
from tidemill.steps.read_only.pipeline_tests.expected import difference
from tidemill.steps.read_only.pipeline_tests.given import write_rows
from tidemill.steps.read_only.preview import Preview, file_source, preview

# More than a person writes down.
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Result:
    """How a test ended.

    Args:
        failures: A sentence for each expectation that does not hold; none where all hold.
    """

    pipeline: str
    name: str
    failures: tuple[str, ...]


def pipelines_with_tests(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The names of the pipelines that have tests."""
    found = spec_files(environ)
    return [one.name for one in found if path_of(one.project, one.name).is_file()]


def run_tests(name: str, log: Log, environ: Mapping[str, str] = os.environ) -> Iterator[Result]:
    """Run the tests of one pipeline, in the order of their file.

    Args:
        log: Gets lines about progress.

    Raises:
        TestsInvalid: the file with the tests cannot be read as such.
        UsageError: there is no such pipeline, or given rows cannot be written for a source.
        QueryFailed: Spark refuses the plan.
    """
    with TemporaryDirectory(prefix="tidemill-test-") as root:
        pipeline = open_pipeline(name, {**environ, "TIDEMILL_ROOT": root})
    path = path_of(pipeline.project, name)
    for case in read_cases(path):
        yield _run(pipeline, case, path.parent, log, environ)


def preview_rows(
    pipeline: Pipeline,
    given: Mapping[str, Given],
    beside: Path,
    log: Log,
    environ: Mapping[str, str] = os.environ,
) -> Preview:
    """What the pipeline makes of some rows.

    Args:
        given: Source -> rows, or the path of a file. A source that is left out has no rows.
        beside: The folder that such a path is relative to.
    """
    with TemporaryDirectory(prefix="tidemill-given-") as folder:
        sample = []
        for name in pipeline.spec.sources:
            rows = given.get(name, [])
            source = file_source(pipeline, name)
            own = Path(folder, name)
            own.mkdir()
            path = beside / rows if isinstance(rows, str) else write_rows(rows, name, source, own)
            sample.append(Path(f"{name}={path}") if len(pipeline.spec.sources) > 1 else path)
        return preview(pipeline.name, sample, MOST_ROWS, log, environ, masked=False)


def _run(
    pipeline: Pipeline, case: Case, beside: Path, log: Log, environ: Mapping[str, str]
) -> Result:
    found = preview_rows(pipeline, case.given, beside, log, environ)
    failures = _failures(case.expect, found, ZoneInfo(pipeline.spec.timezone))
    return Result(pipeline.name, case.name, tuple(failures))


def _failures(expect: Expected, found: Preview, zone: ZoneInfo) -> Iterator[str]:
    if expect.rows is not None:
        apart = difference(expect.rows, found.good, zone)
        yield from (f"This row is missing: {_shown(row)}" for row in apart.missing)
        yield from (f"This row was not expected: {_shown(row)}" for row in apart.unexpected)
    yield from _rejected(expect.rejected, found)
    if expect.gate is not None:
        held = found.gate is not None and found.gate.outcome is not Outcome.DONE
        verdict = "held" if held else "passed"
        if verdict != expect.gate:
            why = f": {found.gate.reason}" if found.gate else ""
            yield f"The gate says {verdict}, and {expect.gate} was expected{why}"


def _rejected(expected: int | Sequence[str] | None, found: Preview) -> Iterator[str]:
    if isinstance(expected, int):
        if expected != found.rejected:
            yield f"Rejected rows: {found.rejected:,}, and {expected:,} expected."
    elif expected is not None:
        reasons = sorted(str(row["reason"]) for row in found.refused)
        if reasons != sorted(expected):
            yield f"Rows are rejected for {reasons}, and {sorted(expected)} was expected."


def _shown(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in row.items())
