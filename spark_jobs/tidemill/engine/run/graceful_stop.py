"""Ends a query between two of its batches, never within one.

`StreamingQuery.stop()` interrupts whatever batch is at work: it is read again by the next run, and
a sink that is not a file sink gets a part twice. So the query is first cut off from its sources:
Spark's own loop then finds nothing to plan another batch from, but for the one without data that a
moved watermark asks for. It is done while no batch can be planned. With the trigger `availableNow`
the query then ends by itself; with another it is stopped once it is idle.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tidemill.engine.spark_internals.batch_boundary import BatchBoundary
from tidemill.engine.spark_internals.query_state import at_work

POLL_MS = 200
POLL_SECONDS = POLL_MS / 1000
Due = Callable[[Event], str | None]


class Brake:
    """Stops a query when it is due, as long as the context lasts.

    It has a thread of its own, so that a signal that interrupts the caller's never leaves Spark's
    lock held: PySpark gives each Python thread one of the JVM, to which the lock belongs.

    Args:
        due: Why the query is to end, or None; asked after each batch, and some times a second. It
            may wait before it answers, but not after the event it is given.
        by_batch: Whether the query runs in batches; any other is stopped wherever it is.

    Attributes:
        reason: What `due` said; None where the query was left alone.
    """

    def __init__(
        self, session: SparkSession, query: StreamingQuery, due: Due, *, by_batch: bool = True
    ) -> None:
        self._session = session
        self._query = query
        self._due = due
        self._off = Event()
        self._error: BaseException | None = None
        self._boundary: BatchBoundary | None = None
        self._thread = Thread(target=self._run, args=(by_batch,), name="brake", daemon=True)
        self.reason: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._off.set()
        self._thread.join()
        if self._boundary is not None and not at_work(self._query):
            self._boundary.stop_sources()
        if self._error is not None and error is None:
            raise self._error

    def _run(self, by_batch: bool) -> None:
        try:
            if by_batch:
                self._between_batches()
            else:
                self._anywhere()
        except Exception as error:  # noqa: BLE001 (raised again where the query is waited for)
            self._error = error
            # A JVM that is gone is named where the query is waited for.
            with suppress(Exception):
                self._query.stop()

    def _between_batches(self) -> None:
        boundary = self._boundary = BatchBoundary(self._session, self._query)
        with boundary.held():
            while self._goes_on():
                self.reason = self._due(self._off)
                if self.reason is not None:
                    boundary.cut_off()
                    break
                boundary.wait(POLL_MS)
        if self.reason is not None:
            self._stop_when_idle()

    def _stop_when_idle(self) -> None:
        """End a query that does not end by itself, or waits hours for its next trigger."""
        idle = 0
        while not self._off.wait(POLL_SECONDS) and self._goes_on():
            status = self._query.status
            at_rest = not status["isTriggerActive"] or status["message"].startswith("Waiting")
            # Once could be the moment before a batch without data.
            idle = idle + 1 if at_rest else 0
            if idle > 1:
                self._query.stop()

    def _anywhere(self) -> None:
        while self._goes_on():
            self.reason = self._due(self._off)
            if self.reason is not None:
                self._query.stop()
                return
            self._off.wait(POLL_SECONDS)

    def _goes_on(self) -> bool:
        return not self._off.is_set() and self._query.isActive
