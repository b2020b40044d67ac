"""What a run records around its query: before it starts, where it fails, and at its end."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tidemill.contract.errors import TidemillError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.late.count import Lateness, earliest_ms
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.run.bind import bind, start_of
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.run.state_metrics import StateFigures, state_figures
from tidemill.engine.sources.static_inputs import Pins
from tidemill.generations.generation import Generation
from tidemill.ledger.batch import Batch
from tidemill.ledger.late_rows import LateRows
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.source_record import bind_sources
from tidemill.ledger.static_pins import keep_copies
from tidemill.sources.probe import probe_sources, report_sources
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.checkpoint import first_write_leftovers
from tidemill.spec.pipeline import Pipeline


@dataclass(frozen=True)
class Ingested:
    """The result of a query.

    Args:
        batches: New in the ledger, those of a driver that died included.
        query_id: Spark's, which stays with the checkpoint.
        query_run_id: Spark's, of this start.
        stopped: Why it ended before the data did, such as `budget.max_batches`; None if it did not.
        left: What its budget left unread.
        files: The report on each file source.
        observed: Batch -> the spec's own metrics of it.
        late: The late rows of batches that were not counted before.
        state: What the query keeps after its last batch; None where it keeps nothing.
    """

    batches: tuple[Batch, ...]
    query_id: str
    query_run_id: str
    stopped: str | None = None
    left: tuple[ProbeResult, ...] = ()
    files: tuple[ProbeResult, ...] = ()
    observed: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    late: tuple[LateRows, ...] = ()
    state: StateFigures | None = None


class RunRecords:
    """The records of one start of a query.

    Args:
        query: The query, whose run holds the lease.

    Attributes:
        batches: All batches of the generation before the query starts, once `bind` was called.
    """

    def __init__(self, query: QueryRun, planned: Plan, pins: Pins) -> None:
        self.batches: Sequence[Batch] = ()
        self._query, self._planned, self._pins = query, planned, pins
        self._earlier: list[Batch] = []
        self._late: list[LateRows] = []
        stateful = planned.pipeline_class is not PipelineClass.MAP and query.trigger.by_batch
        ledger = query.generation.ledger
        self._lateness = Lateness(query.session, query.context, ledger) if stateful else None

    def bind(self) -> None:
        """Write the generation's note, its sources, and batches that a dead driver committed."""
        run, generation = self._query.context, self._query.generation
        note = bind(run, generation, self._planned, continuous=self._query.trigger.continuous)
        for leftover in first_write_leftovers(note.checkpoint, generation.log):
            run.log(f"removing {leftover}: left by a driver that died in its very first write")
            leftover.unlink()
        bind_sources(run.layout, generation.name, run.pipeline.spec)
        self._earlier = generation.ledger.complete()
        for batch in self._earlier:
            run.log(f"batch {batch.batch}: committed by an earlier driver, now in the ledger")
        self.batches = generation.ledger.past()

    def start(self) -> None:
        """Record the start, by which its batches are told from those of others."""
        run, generation = self._query.context, self._query.generation
        run.lease.check()
        generation.ledger.start(start_of(run, generation, self._planned, self._pins))

    def count_late_rows(self, reports: Mapping[int, Mapping[str, Any]] | None = None) -> None:
        """Count the late rows of batches that were not counted yet.

        Args:
            reports: Batch -> Spark's report on it, for batches that ran now.
        """
        if self._lateness is not None:
            earliest = None if reports is None else earliest_ms(reports, self._planned.rows)
            self._late += self._lateness.count(earliest)

    @contextmanager
    def late_rows_of_a_failure(self) -> Iterator[None]:
        """Count the late rows of the batches before a failure, while the code is what it was."""
        try:
            yield
        except TidemillError:
            with suppress(TidemillError):
                self.count_late_rows()
            raise

    def finish(self, ran: Ran) -> Ingested:
        """Record what the query read, and put together what came of it.

        Raises:
            InputChanged: a file changed while or after it was read, and the spec rates that `hold`.
        """
        run, generation = self._query.context, self._query.generation
        self.count_late_rows(ran.reports)
        written = [*self._earlier, *ran.batches]
        batches = generation.ledger.past()
        files = report_sources(run, batches, written)
        if run.pipeline.generation is None:
            # While another generation is built, a live run may have copied what no batch names yet.
            _forget_copies(generation, self._pins, batches)
        stopped, left = _left(run.pipeline, generation, ran.stopped)
        return Ingested(
            tuple(written),
            ran.query_id,
            ran.query_run_id,
            stopped,
            left,
            tuple(files),
            ran.observed,
            tuple(self._late),
            state_figures(ran.reports),
        )


def _forget_copies(generation: Generation, pins: Pins, batches: Sequence[Batch]) -> None:
    """Remove the copies of static inputs that no batch has read.

    A batch that is planned and not committed was planned by this run, which has `pins`. What other
    generations were started with stays: one of them may be read again, or is being built.
    """
    if not pins:
        return
    layout = generation.ledger.layout
    others = [path.name for path in (layout.home / "ledger").iterdir()]
    starts = [
        s for other in others if other != generation.name for s in Ledger(layout, other).starts()
    ]
    for name, pin in pins.items():
        read = [batch.static[name] for batch in batches if name in batch.static]
        read += [start.static[name] for start in starts if name in start.static]
        keep_copies(layout.statics / name, [*read, pin])


def _left(
    pipeline: Pipeline, generation: Generation, stopped: str | None
) -> tuple[str | None, tuple[ProbeResult, ...]]:
    """Why a query was stopped, and what it left; a budget that was just enough stopped nothing."""
    if stopped is None or not stopped.startswith("budget."):
        return stopped, ()
    left = tuple(probe_sources(pipeline, generation.ledger.past()))
    return (None, ()) if all(look.new == 0 for look in left) else (stopped, left)
