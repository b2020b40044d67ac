"""Stops a query between two batches, so that no further batch is planned.

Relies on `MicroBatchExecution`: it signals `awaitProgressLockCondition` after each batch, plans the
next one (`constructNextBatch`) under `awaitProgressLock`, and reads from its `uniqueSources` alone.
`processAllAvailable` waits in the same way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tidemill.engine.spark_internals.query_state import execution


class BatchBoundary:
    """Waits for the end of batches, and cuts a query off from its sources."""

    def __init__(self, session: SparkSession, query: StreamingQuery) -> None:
        jvm: Any = session._jvm
        self._milliseconds = jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._execution = execution(query)
        self._sources: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold Spark's lock: no batch is planned meanwhile, but for the time of a `wait`.

        The lock belongs to the thread of the JVM, of which each Python thread has its own.
        """
        lock = self._execution.awaitProgressLock()
        lock.lock()
        try:
            yield
        finally:
            lock.unlock()

    def wait(self, milliseconds: int) -> None:
        """Give the lock away until a batch has ended, or for so long."""
        # `await` is a keyword of Python.
        wait = getattr(self._execution.awaitProgressLockCondition(), "await")
        wait(milliseconds, self._milliseconds)

    def cut_off(self) -> None:
        """Let Spark find nothing new in any source."""
        self._sources = self._execution.uniqueSources()
        getattr(self._execution, "uniqueSources_$eq")(self._sources.empty())

    def stop_sources(self) -> None:
        """Stop what was cut off: at its end a query stops only the sources that it knows of."""
        if self._sources is None:
            return
        sources = self._sources.keysIterator()
        while sources.hasNext():
            sources.next().stop()
