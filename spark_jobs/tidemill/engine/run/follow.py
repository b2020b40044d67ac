"""Follows a running query: records each batch as it is committed, and logs a line about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING

from pyspark.sql.streaming import StreamingQuery

from tidemill.engine.query.planned_query import Plan
from tidemill.engine.run.budget import Spending
from tidemill.engine.run.graceful_stop import Brake, Due
from tidemill.engine.run.progress import Progress
from tidemill.engine.run.running_query import Register
from tidemill.engine.run.sample_rows import shown_rows
from tidemill.engine.spark_internals.query_state import at_work
from tidemill.ledger.batch import Batch

if TYPE_CHECKING:
    from tidemill.engine.run.query_run import QueryRun

POLL_SECONDS = 0.3
STEP_SECONDS = 0.05


@dataclass
class Following:
    """A query that was started, until nothing of it runs any more.

    Args:
        run: What was started; its context's log gets a line per batch.
        progress: Takes in its reports.

    Attributes:
        stopped: Why it was stopped; None where it ended by itself.
    """

    run: QueryRun
    planned: Plan
    query: StreamingQuery
    progress: Progress
    stopped: str | None = field(default=None, init=False)

    def to_the_end(self) -> list[Batch]:
        """Stay with the query; the batches that were written down."""
        last = self.run.generation.ledger.latest()
        with Register(self.run.session, self.query, self.run.context, self.run.trigger, last) as (
            register
        ):
            brake = Brake(
                self.run.session,
                self.query,
                self._due(register),
                by_batch=self.run.trigger.by_batch,
            )
            with brake:
                written = self._follow(register)
        self.stopped = brake.reason
        return written

    def _follow(self, register: Register) -> list[Batch]:
        written: list[Batch] = []
        working = True
        while working:
            working = self._wait()
            self.progress.look(self.query)
            # A batch is reported shortly after its commit, and only the report knows the rows it
            # read. Spark reports nothing of a continuous query.
            wait_for_report = working and not self.run.trigger.continuous
            upto = self.progress.latest if wait_for_report else None
            fresh = self.run.generation.ledger.complete(
                self.progress.rows_in, upto, self.progress.counts
            )
            for batch in fresh:
                self.progress.remaining.take(batch)
                self.run.context.log(self.progress.line(batch))
                self._show(batch)
            if working:
                register.look(fresh, self.progress)
            written += fresh
        return written

    def _wait(self) -> bool:
        """Wait for so long that batches are looked at; whether the query is still at work then.

        Not by `awaitTermination`: a signal that interrupts a call to the JVM has Py4J close other
        threads' connections too, and the brake's may hold Spark's lock, which none then gives back.
        """
        until = monotonic() + POLL_SECONDS
        while at_work(self.query):
            if monotonic() >= until:
                return True
            sleep(STEP_SECONDS)
        return False

    def _show(self, batch: Batch) -> None:
        if self.run.options.show is not None:
            self.run.options.show(batch, shown_rows(self.run, self.planned, batch, self.progress))

    def _due(self, register: Register) -> Due:
        """The reason to end the query: a request to stop, or a used-up budget."""
        budget = self.run.context.pipeline.spec.budget if self.run.trigger.ends else None
        spending = None if budget is None else Spending(budget, self.run.generation.ledger)

        def due(given_up: Event) -> str | None:
            if register.asked_to_stop:
                return "asked to stop"
            return self.run.options.stop() or (spending.used_up(given_up) if spending else None)

        return due
