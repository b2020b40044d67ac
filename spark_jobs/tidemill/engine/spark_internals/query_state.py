"""Facts on a running query beyond `StreamingQuery`.

Relies on the JVM's `StreamingQuery`, and on `StreamExecution` behind it.
"""

import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql.streaming import StreamingQuery

# The attribute under which a query keeps its thread in the JVM.
THREAD = "_tidemill_thread"


def execution(query: StreamingQuery) -> Any:
    """The `StreamExecution` of a query (`StreamingQueryWrapper.streamingQuery`)."""
    return query._jsq.streamingQuery()


def at_work(query: StreamingQuery) -> bool:
    """Whether its thread still runs: `isActive` is said of a query that is ending, too."""
    known: dict[str, Any] = vars(query)
    if THREAD not in known:
        # It is asked many times a second, and a query has one thread.
        known[THREAD] = execution(query).queryExecutionThread()
    return bool(known[THREAD].isAlive())


def last_progress(query: StreamingQuery) -> dict[str, Any] | None:
    """The last report with every metric; PySpark's own cannot hold some (`lastProgress.json`)."""
    report = query._jsq.lastProgress()
    found: dict[str, Any] | None = None if report is None else json.loads(report.json())
    return found


def explained(query: StreamingQuery) -> str:
    """The extended plan of the last batch, as `StreamingQuery.explain` prints it."""
    return str(query._jsq.explainInternal(True))


def observed_counts(query: StreamingQuery, names: Iterable[str]) -> list[int | None]:
    """The first value of each observed metric of the batch at work, where it has one.

    Relies on `lastExecution.observedMetrics`: reports come only when the batch has ended.
    """
    metrics = execution(query).lastExecution().observedMetrics()
    found = (metrics.apply(name) for name in names if metrics.contains(name))
    return [None if row.isNullAt(0) else int(row.getLong(0)) for row in found]
