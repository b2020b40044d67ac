"""Requalify: judges published rows by today's suite, and changes nothing."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from tidemill.contract.counted import counted
from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.file_formats.parquet import read_footers
from tidemill.gate.engine_choice import Engine, choose_engine
from tidemill.gate.judge import judge
from tidemill.gate.sample import Sample, SampleFile
from tidemill.gate.suite import Suite, load_suite
from tidemill.journal.journal import Event, Journal
from tidemill.ledger.ledger import Ledger
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.parts.judge_increment import engine_of
from tidemill.steps.parts.published_rows import sink_of
from tidemill.storage import documents
from tidemill.storage.run_context import RunContext


class NoTable(UsageError):
    """Nothing is published that could be judged again; carries `table`."""


class NoSuite(UsageError):
    """The spec says `gate: {suite: none}`, so there is nothing to judge published rows by."""


class Requalified(FrozenModel):
    """The verdict of today's suite on published rows.

    Attributes:
        increment: That brought them; None for rows that were rewritten since, of several.
        rows: That are still published of it.
        partitions: The partitions that they are in, column -> value.
        outcome: `held` is what the gate would have said.
        reasons: The critical expectations that failed.
        warnings: The others that failed.
    """

    increment: int | None
    rows: int
    partitions: tuple[dict[str, str | None], ...]
    outcome: Literal["passed", "held"]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


class Requalification(Document):
    """The report on a published table.

    Attributes:
        judged: UTC.
        found: By increment, in the order in which they went out.
    """

    pipeline: str
    version: int
    suite: str
    suite_hash: str
    judged: datetime
    found: tuple[Requalified, ...]

    @property
    def failed(self) -> tuple[Requalified, ...]:
        return tuple(one for one in self.found if one.outcome == "held")


@dataclass(frozen=True)
class _Part:
    """Published files that are judged together."""

    increment: int | None
    files: tuple[LiveFile, ...]


def requalify(run: RunContext) -> Requalification:
    """Judge every published increment again, in the rows of it that are still published.

    Args:
        run: Its folder gets the report, `requalified.json`, and Great Expectations' own results.

    Raises:
        NoSuite: the spec says that there is none.
        NoTable: the pipeline has no table yet, or its rows are published elsewhere.
        CheckBroke: the check failed, which says nothing about the data.
    """
    pipeline, layout = run.pipeline, run.pipeline.layout
    if not has_table(layout.table):
        raise NoTable(
            f"{layout.table} is not a table, so there is nothing to judge again.",
            remedy=f"Publish something first: tidemill run {pipeline.name}.",
            table=layout.table,
        )
    table = open_table(layout.table)
    suite = load_suite(pipeline.suite_file)
    if not suite.expectations:
        raise NoSuite(
            f"The spec of {pipeline.name} has the suite 'none', so nothing is expected.",
            remedy="Write a suite, and remove gate.suite from the spec.",
            pipeline=pipeline.name,
        )
    columns = _columns(layout)
    found = []
    for part in _parts(pipeline, live_files(table, layout.table)):
        one = _judged(run, suite, columns, part)
        run.log(_sentence(one))
        found.append(one)
    report = Requalification(
        pipeline=pipeline.name,
        version=table.version(),
        suite=suite.name,
        suite_hash=suite.hash,
        judged=run.clock(),
        found=tuple(found),
    )
    documents.put_if_absent(layout.run(run.run_id) / "requalified.json", report)
    return report


def _columns(layout: Layout) -> str:
    """The published columns when the last event's files were written, as Spark's JSON schema."""
    place = Journal(layout.journal).events()[-1].stored_in
    ledger = Ledger(layout, place.generation)
    return json.dumps(ledger.table_schema(ledger.batches(place.last, place.last)[0]))


def _parts(pipeline: Pipeline, live: list[LiveFile]) -> Iterator[_Part]:
    """The live files by the increment that brought them; what was rewritten comes last."""
    layout = pipeline.layout
    left = {file.path: file for file in live}
    append = pipeline.spec.output.mode is OutputMode.APPEND
    for event in Journal(layout.journal).events() if append else ():
        own = tuple(left.pop(path) for path in _paths(layout, event) if path in left)
        if own:
            yield _Part(event.increment, own)
    if left:
        yield _Part(None, tuple(left.values()))


def _paths(layout: Layout, event: Event) -> Iterator[Path]:
    place = event.stored_in
    for batch in Ledger(layout, place.generation).batches(place.first, place.last):
        for file in batch.outputs:
            if not file.rejected:
                yield layout.sink(place.generation) / file.path


def _judged(run: RunContext, suite: Suite, columns: str, part: _Part) -> Requalified:
    layout, spec = run.pipeline.layout, run.pipeline.spec
    footers = read_footers([file.path for file in part.files])
    size = sum(footer.uncompressed_bytes for footer in footers)
    choice = choose_engine(size, spec.gate.in_process_max, suite, columns)
    engine: Engine = engine_of(run, choice)
    files = tuple(
        SampleFile(file.path, sink_of(file.path, layout.table), file.partition)
        for file in part.files
    )
    name = "rest" if part.increment is None else f"{part.increment:06d}"
    results = layout.run(run.run_id) / "requalified" / name
    results.mkdir(parents=True, exist_ok=True)
    judgement = judge(
        Sample(files=files, columns=columns, time_zone=spec.timezone),
        suite,
        engine,
        run_name=f"{run.run_id}-{name}",
        docs=layout.docs,
        results=results,
        samples=spec.gate.samples,
        mask=spec.gate.mask,
        clock=run.clock,
    )
    reasons = tuple(outcome.sentence for outcome in judgement.failed_critical)
    return Requalified(
        increment=part.increment,
        rows=sum(footer.rows for footer in footers),
        partitions=_distinct(file.partition for file in part.files),
        outcome="held" if reasons else "passed",
        reasons=reasons,
        warnings=tuple(outcome.sentence for outcome in judgement.warnings),
    )


def _distinct(found: Iterator[Mapping[str, str | None]]) -> tuple[dict[str, str | None], ...]:
    each = {tuple(partition.items()): dict(partition) for partition in found if partition}
    return tuple(each[key] for key in sorted(each, key=str))


def _sentence(one: Requalified) -> str:
    name = "rewritten rows" if one.increment is None else f"increment {one.increment:06d}"
    said: Any = "; ".join(one.reasons) or "passed"
    return f"{name}, {counted(one.rows, 'row')}: {said}"
