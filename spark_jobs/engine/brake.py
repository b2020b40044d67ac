"""Ends a query between two of its batches, never within one.

`StreamingQuery.stop()` interrupts whatever batch is at work: it is read again by the next run, and
a sink that is no file sink gets a part of it twice. Spark's own loop looks at the query's state
before each batch, and signals a condition after each; whoever waits for that condition holds the
lock that planning the next batch needs (`MicroBatchExecution.executeOneBatch`, the way
`processAllAvailable` waits). So the decision falls after one batch is committed and before another
is planned, and costs the query nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

POLL_MS = 200
POLL_SECONDS = POLL_MS / 1000
Due = Callable[[Event], str | None]


def at_work(query: StreamingQuery) -> bool:
    """Whether anything of a query still runs: one that was told to end is no longer `isActive`."""
    return bool(_execution(query).queryExecutionThread().isAlive())


class Brake:
    """Stops a query when it is due, as long as the context lasts.

    It has a thread of its own, so that a signal that interrupts the caller's never leaves Spark's
    lock held: PySpark gives each Python thread one of the JVM, to which the lock belongs.

    Args:
        session: The query's.
        query: That runs.
        due: Why the query is to end, or None; asked after each batch, and some times a second. It
            may wait before it answers, but not after the event it is given: then nobody cares.
        by_batch: Whether the query runs in batches; any other is stopped wherever it is.
    """

    def __init__(
        self,
        session: SparkSession,
        query: StreamingQuery,
        due: Due,
        *,
        by_batch: bool = True,
    ) -> None:
        self._jvm: Any = session._jvm
        self._query = query
        self._due = due
        self._off = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(by_batch,), name="brake", daemon=True)
        self.reason: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._off.set()
        self._thread.join()
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
            self._query.stop()

    def _between_batches(self) -> None:
        execution = _execution(self._query)
        lock, batch_ended = execution.awaitProgressLock(), execution.awaitProgressLockCondition()
        milliseconds = self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        lock.lock()
        try:
            while self._goes_on():
                self.reason = self._due(self._off)
                if self.reason is not None:
                    execution.state().set(self._terminated)
                    break
                # `await` is a keyword of Python.
                getattr(batch_ended, "await")(POLL_MS, milliseconds)
        finally:
            lock.unlock()
        if self.reason is not None:
            self._wake()

    def _wake(self) -> None:
        """End a query that waits for its next trigger, which may be hours away."""
        idle = 0
        while not self._off.wait(POLL_SECONDS) and at_work(self._query):
            # Told to end, it begins no batch; twice idle, it is not about to begin one either.
            idle = 0 if self._query.status["isTriggerActive"] else idle + 1
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

    @property
    def _terminated(self) -> Any:
        """Spark's state of a query that is to begin no further batch."""
        runtime = self._jvm.org.apache.spark.sql.execution.streaming.runtime
        return getattr(getattr(runtime, "TERMINATED$"), "MODULE$")


def _execution(query: StreamingQuery) -> Any:
    return query._jsq.streamingQuery()
