"""A run: what it was asked for, what each step did, and what became of the rows it took in."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, get_args

from tidemill.contract import report as reports
from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Report, SparkApplication, Step
from tidemill.increments.increments import Increments
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.sources.base import Rating
from tidemill.spec.spec import Gate


class StepDone(FrozenModel):
    """A step of a run, as its last try left it.

    Attributes:
        started: UTC.
        remedy: What to do about its error; None where it had none.
    """

    step: Step
    outcome: Outcome
    reason: str
    started: datetime
    finished: datetime
    remedy: str | None = None

    @property
    def seconds(self) -> float:
        return (self.finished - self.started).total_seconds()


class PublishedIncrement(FrozenModel):
    """An increment that a publish made visible."""

    increment: int
    version: int
    rows: int
    rejected: int


class RunSummary(FrozenModel):
    """What is known of a run.

    Attributes:
        steps: Those that have reported, in order.
        increment: What it sealed and judged; None where it has sealed nothing.
        taken_in: Facts on what its ingest took in: batches, files, rows, rejected and late rows.
        warnings: What its doctor found in its input and did not hold, such as unknown columns.
        published: The increments that its publish made visible.
        dry_run: What a dry run found; None of any other run.
        applications: The Spark applications of its steps, in order.
    """

    pipeline: str
    run_id: str
    request: RunRequest
    steps: tuple[StepDone, ...]
    increment: Incident | None
    taken_in: dict[str, Any]
    warnings: tuple[str, ...] = ()
    published: tuple[PublishedIncrement, ...]
    dry_run: dict[str, Any] | None = None
    applications: tuple[SparkApplication, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the run has left anything at all."""
        return bool(self.steps) or self.increment is not None


SHOWN_OF_INGEST = ("batches", "files", "rows", "rejected", "late", "stopped")


def read_run(layout: Layout, run_id: str, gate: Gate) -> RunSummary:
    """What a run did, from its own folder and from its increment.

    Args:
        gate: The spec's, which says how many samples are shown and which columns are masked.

    Raises:
        UsageError: no run can have this id.
    """
    folder = layout.run(run_id)
    found = {step: reports.read(folder, step) for step in get_args(Step)}
    number = read_run_increment(folder)
    ingested = _facts(found["ingest"])
    applications = (report.spark for report in found.values() if report is not None)
    return RunSummary(
        pipeline=layout.name,
        run_id=run_id,
        request=read_request(folder),
        steps=tuple(_done(report) for report in found.values() if report is not None),
        increment=None if number is None else _incident(layout, number, gate),
        taken_in={name: ingested[name] for name in SHOWN_OF_INGEST if ingested.get(name)},
        warnings=tuple(_warnings(_facts(found["doctor"]))),
        published=_published(_facts(found["publish"])),
        dry_run=ingested.get("dry_run"),
        applications=tuple({one.id: one for one in applications if one is not None}.values()),
    )


def _incident(layout: Layout, number: int, gate: Gate) -> Incident | None:
    there = (Increments(layout.increments).folder_of(number) / "sealed.json").exists()
    return read_incident(layout, number, gate) if there else None


def _facts(report: Report | None) -> dict[str, Any]:
    return {} if report is None else report.facts


def _warnings(facts: dict[str, Any]) -> Iterator[str]:
    for look in facts.get("sources", {}).values():
        for problem in look.get("problems", ()):
            # Older reports have no sentence.
            if problem["rating"] == Rating.WARN and "what" in problem:
                yield problem["what"]


def _done(report: Report) -> StepDone:
    return StepDone(
        step=report.step,
        outcome=report.outcome,
        reason=report.reason,
        started=report.started,
        finished=report.finished,
        remedy=str(report.error["remedy"]) if report.error and "remedy" in report.error else None,
    )


def _published(facts: dict[str, Any]) -> tuple[PublishedIncrement, ...]:
    names = PublishedIncrement.model_fields
    return tuple(
        PublishedIncrement(**{name: one[name] for name in names})
        for one in facts.get("published") or ()
    )
