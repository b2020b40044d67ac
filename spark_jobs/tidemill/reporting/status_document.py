"""The status document of a pipeline: small, kept up to date by the steps, and only ever shown.

It says what people ask first. No step decides by it: whatever it holds is in the pipeline's history
too, from which `reporting.standing` computes it again wherever it is missing or out of date.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Literal, Self

from tidemill.contract.counted import bytes_in_words, counted
from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.remedy import for_airflow
from tidemill.contract.report import Outcome, Report, Step
from tidemill.reporting.words import ago

# In the order in which they need a person's attention.
PipelineState = Literal[
    "refused", "held", "overdue", "behind", "waiting", "running", "never run", "fine"
]
DAYS = 14
SHOWN_OF_ERROR = ("code", "what", "remedy", "remedy_in_airflow", "transient")


class LastRun(FrozenModel):
    """The step that reported last.

    Attributes:
        error: The code, sentence, remedy and kind of its error; empty where it had none.
    """

    run_id: str
    step: Step
    outcome: Outcome
    reason: str
    finished: datetime
    error: dict[str, Any] = {}

    @classmethod
    def of(cls, report: Report) -> Self:
        said = report.error or {}
        return cls(
            run_id=report.run_id,
            step=report.step,
            outcome=report.outcome,
            reason=report.reason,
            finished=report.finished,
            error={name: said[name] for name in SHOWN_OF_ERROR if name in said},
        )

    @property
    def code(self) -> str:
        """The code of its error, empty where it ended without one."""
        return str(self.error.get("code", ""))


class TableRead(FrozenModel):
    """An input that is the table of another pipeline.

    Attributes:
        pipeline: The pipeline that publishes the table.
        input: The spec's field, such as `sources.orders` or `statics.shops`.
    """

    pipeline: str
    input: str


class About(FrozenModel):
    """What the spec says of a pipeline.

    Attributes:
        dag_id: The DAG that runs it; in a group the group's.
        tables_read: The tables of other pipelines that it reads; None in a document that was
            written before they were in it, and where the spec does not load.
        spec_time: When the spec was last written to, in nanoseconds; 0 where it does not load.
        expect_seconds: For how long nothing may arrive, with the grace; None for any time.
    """

    dag_id: str
    owner: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    targets: tuple[str, ...] = ()
    expect_seconds: float | None = None
    tables_read: tuple[TableRead, ...] | None = None
    spec_time: int = 0


class SourceBacklog(FrozenModel):
    """What waits at a source, as the last step that looked there found it.

    Attributes:
        new: In `unit`s; None where only a query can tell.
        oldest: When the oldest of it arrived; None where nothing waits, or it is not known.
        arrived: When something arrived last, by its own date or when a run took it in; None where
            nothing ever did.
        problems: The codes of what would go wrong there.
    """

    source: str
    new: int | None
    unit: str
    bytes: int | None = None
    oldest: datetime | None = None
    arrived: datetime | None = None
    problems: tuple[str, ...] = ()

    @property
    def falls_behind(self) -> bool:
        """Whether it brought more than was processed over the last runs."""
        return "FallingBehind" in self.problems


class LastPublished(FrozenModel):
    """The increment that consumers saw last."""

    increment: int
    version: int
    at: datetime


class HeldIncrement(FrozenModel):
    """An increment that waits for a person.

    Attributes:
        behind_it: How many increments cannot go out before it.
    """

    increment: int
    since: datetime
    rows: int
    rejected: int
    reasons: tuple[str, ...]
    behind_it: int
    run_id: str


class DayRows(FrozenModel):
    """The rows that were published or rejected on one day, in UTC."""

    day: date
    rows: int
    rejected: int


class StatusDocument(Document):
    """A pipeline as the last step left it.

    Attributes:
        epoch: The newest epoch of the lease whose writes are in here: once there is a later one,
            the document may be out of date. -1 before the history was ever read.
        counted: The number of the last event of the journal whose rows are in `days`.
        written: When it was computed.
        looked: When the sources were looked at; None where they never were.
        sources: What waited there then.
        published: None until something is.
        days: The last days on which something was published, oldest first, at most `DAYS`.
        held: The increments that wait for a person.
        unpublished: How many increments are still to go out, the held ones among them.
        unsealed: How many committed batches no increment holds yet.
        lagging: Target -> events of the journal that it has still to apply.
        ran: Whether anything was ever taken in.
        error: Why spec or history cannot be read, as `TidemillError.as_dict()`; None if they can.
    """

    pipeline: str
    about: About
    epoch: int = -1
    counted: int = 0
    written: datetime
    looked: datetime | None = None
    sources: tuple[SourceBacklog, ...] = ()
    published: LastPublished | None = None
    days: tuple[DayRows, ...] = ()
    held: tuple[HeldIncrement, ...] = ()
    unpublished: int = 0
    unsealed: int = 0
    lagging: dict[str, int] = {}
    ran: bool = False
    last_run: LastRun | None = None
    error: dict[str, Any] | None = None

    @property
    def expected_by(self) -> datetime | None:
        """When the next input should have arrived; None where the spec expects none."""
        known = [one.arrived for one in self.sources if one.arrived is not None]
        if self.about.expect_seconds is None or not known:
            return None
        return min(known) + timedelta(seconds=self.about.expect_seconds)

    @property
    def waits(self) -> bool:
        """Whether there is something that a run would do."""
        return bool(any(one.new for one in self.sources) or self.unsealed or self.unpublished)

    def rows_per_day(self, today: date) -> list[DayRows]:
        """Each of the last `DAYS` days, also those without rows, oldest first."""
        known = {one.day: one for one in self.days}
        days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
        return [known.get(day) or DayRows(day=day, rows=0, rejected=0) for day in days]


def rejected_share(days: Sequence[DayRows]) -> float | None:
    """The share of rejected rows; None where there were no rows."""
    rejected = sum(one.rejected for one in days)
    every = rejected + sum(one.rows for one in days)
    return rejected / every if every else None


def state_of(status: StatusDocument, *, running: bool, now: datetime) -> PipelineState:
    """A pipeline's state in a word.

    Args:
        running: Whether a live process writes to it.
    """
    last = status.last_run
    overdue = last is not None and last.code == "FeedOverdue"
    failed = last is not None and last.outcome in (Outcome.REFUSED, Outcome.FAILED)
    for_good = last is not None and not last.error.get("transient", False)
    if status.error is not None or (failed and for_good and not overdue):
        return "refused"
    if status.held:
        return "held"
    if overdue or (status.expected_by is not None and status.expected_by < now):
        return "overdue"
    if status.lagging or any(one.falls_behind for one in status.sources):
        return "behind"
    if running:
        return "running"
    if status.waits:
        return "waiting"
    return "fine" if status.ran else "never run"


def waiting_in_words(status: StatusDocument, now: datetime) -> str:
    """What a run would take in or go on with; empty where nothing waits."""
    said = []
    for one in status.sources:
        if one.new:
            size = "" if one.bytes is None else f" of {bytes_in_words(one.bytes)}"
            oldest = f", the oldest {ago(one.oldest, now)}" if one.oldest else ""
            said.append(f"{one.new:,} {one.unit}{size}{oldest}")
    if status.unsealed:
        said.append(f"{counted(status.unsealed, 'batch', 'batches')} before the gate")
    if status.unpublished:
        said.append(f"{counted(status.unpublished, 'increment')} before publish")
    return "; ".join(said)


def decisions(status: StatusDocument, state: PipelineState) -> Iterator[str]:
    """What a person has to decide or to repair, a sentence each."""
    for one in status.held:
        behind = f"; {one.behind_it} wait behind it" if one.behind_it else ""
        why = f" ({', '.join(one.reasons)})" if one.reasons else ""
        yield f"Increment {one.increment:06d} is held{why}{behind}."
    if status.error is not None:
        yield f"{status.error['what']} {for_airflow(status.error)}"
    elif state in ("refused", "overdue") and status.last_run is not None and status.last_run.error:
        yield f"{status.last_run.error['what']} {for_airflow(status.last_run.error)}"
    for source in status.sources:
        if source.falls_behind:
            yield (
                f"Source {source.source} brings more than is processed: run it more often, or "
                "give it more cores or a greater budget."
            )
    for target, events in status.lagging.items():
        yield f"Target {target} has still to apply {counted(events, 'event')} of the journal."
