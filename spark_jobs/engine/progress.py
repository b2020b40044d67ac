"""What a running query says of itself: one line per batch, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.errors import TidemillError, TransientError
from spark_jobs.engine.query import ROWS_READ
from spark_jobs.ledger.batches import Batch

# SQLSTATE classes of errors that come back at every retry: data exceptions, user functions,
# syntax, unsupported features.
HOPELESS = ("22", "38", "39", "42", "0A", "54")
RACES = ("CONCURRENT_STREAM_LOG_UPDATE", "Race while writing batch")


class QueryFailed(TidemillError):
    """The query stopped with an error that a retry will meet again; carries `condition`."""


class QueryInterrupted(TransientError):
    """The query stopped with an error that may be gone at the next try; carries `condition`."""


@dataclass
class Progress:
    """Collects the progress of one query.

    Attributes:
        rows_in: Batch -> rows read.
    """

    rows_in: dict[int, int] = field(default_factory=dict)
    _last: dict[int, dict[str, Any]] = field(default_factory=dict)

    def look(self, query: StreamingQuery) -> None:
        """Take in what the query reported since the last look."""
        for report in query.recentProgress:
            metrics = report.get("observedMetrics") or {}
            if ROWS_READ in metrics:
                self.rows_in[report["batchId"]] = int(metrics[ROWS_READ]["rows"])
            self._last[report["batchId"]] = dict(report)

    def knows(self, batch: Batch) -> bool:
        """Whether the query has reported on a batch; it does so shortly after the commit."""
        return batch.batch in self._last

    def line(self, batch: Batch) -> str:
        """The line for the task log: batch, files, rows, rows/s, backlog left."""
        report = self._last.get(batch.batch, {})
        seconds = report.get("batchDuration", 0) / 1000
        left = (report.get("sources") or [{}])[0].get("metrics") or {}
        rows = batch.rows + batch.rejected
        speed = f"{rows / seconds:,.0f} rows/s" if seconds else "speed unknown"
        return (
            f"batch {batch.batch}: {len(batch.inputs)} files in, {batch.rows:,} rows, "
            f"{batch.rejected:,} rejected, {speed}, "
            f"{left.get('numFilesOutstanding', '?')} files left"
        )


def why(query: StreamingQuery) -> TidemillError | None:
    """The query's error as one of ours, or None if it ended well."""
    error = query.exception()
    return None if error is None else of_spark(error)


def of_spark(error: PySparkException) -> TidemillError:
    """An error of Spark's, told apart by whether a retry can help."""
    condition, state, text = _said(error)
    first = " ".join(text.split())[:400]
    if any(race in text for race in RACES):
        return QueryInterrupted(
            f"Another driver wrote to the same checkpoint: {first}",
            remedy="The retry carries on from the last committed batch.",
            condition=condition,
        )
    if state.startswith(HOPELESS) or "PythonException" in text:
        return QueryFailed(
            f"The query failed with {condition}: {first}",
            remedy="Mend the transform, the spec or the input file; the batch then runs again.",
            condition=condition,
        )
    return QueryInterrupted(
        f"The query was interrupted with {condition}: {first}",
        remedy="The retry carries on from the last committed batch.",
        condition=condition,
    )


def _said(error: PySparkException) -> tuple[str, str, str]:
    """Condition, SQLSTATE and text of the innermost error that has them."""
    text = str(error)
    found: Any = error
    if isinstance(error, StreamingQueryException):
        cause = getattr(error, "_origin", None)
        while cause is not None:
            if hasattr(cause, "getCondition") and cause.getCondition():
                found = cause
            cause = cause.getCause() if hasattr(cause, "getCause") else None
    condition = found.getCondition() if hasattr(found, "getCondition") else None
    state = found.getSqlState() if hasattr(found, "getSqlState") else None
    return condition or type(error).__name__, state or "", text
