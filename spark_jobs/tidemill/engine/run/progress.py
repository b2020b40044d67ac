"""The progress of a running query: its reports, and one log line per batch."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from tidemill.contract.counted import counted
from tidemill.engine.query.metrics import OBSERVED, as_values
from tidemill.engine.query.planned_query import ROWS_OUT, ROWS_READ, SAMPLE
from tidemill.engine.run.remaining import Remaining
from tidemill.ledger.batch import Batch, Counts


@dataclass
class Progress:
    """Collects the progress of one query.

    Attributes:
        remaining: What is left at the sources.
        written: The last batch that the sink held before the query started, -1 for none. Where
            Spark had not committed it the sink passes over it now: nothing of it is computed, and
            what is reported of it is of no rows.
        repeated: Whether Spark has computed a part of a query's last batches again, and so counted
            rows twice.
        rows_in: Batch -> rows read, where Spark counted each once.
        counts: Batch -> what was counted of it, for a sink that leaves no files.
        samples: Batch -> some of its rows as JSON, where they are shown.
        observed: Batch -> the spec's own metrics of it.
    """

    remaining: Remaining
    written: int = -1
    repeated: Callable[[StreamingQuery], bool] = lambda _: False
    rows_in: dict[int, int] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    samples: dict[int, list[str]] = field(default_factory=dict)
    observed: dict[int, dict[str, Any]] = field(default_factory=dict)
    _last: dict[int, dict[str, Any]] = field(default_factory=dict)

    def look(self, query: StreamingQuery) -> None:
        """Take in what the query reported since the last look."""
        # A query without new data reports on the batch to come, which did not run yet.
        ended = [report for report in query.recentProgress if "addBatch" in report["durationMs"]]
        fresh = [report for report in ended if report["batchId"] not in self._last]
        once = not fresh or not self.repeated(query)
        for report in fresh:
            self._take_in(report["batchId"], dict(report), once=once)

    def _take_in(self, batch: int, report: dict[str, Any], *, once: bool) -> None:
        self._last[batch] = report
        if batch <= self.written:
            return
        metrics = report.get("observedMetrics") or {}
        counted = [m for name, m in metrics.items() if name.startswith(ROWS_READ)]
        rows = [m["rows"] for m in counted] if counted else [report["numInputRows"]]
        if once and None not in rows:
            self.rows_in[batch] = sum(map(int, rows))
        if ROWS_OUT in metrics:
            rejected = Counter[str]()
            for source in counted:
                rejected.update({r: n for r, n in source.asDict().items() if r != "rows"})
            self.counts[batch] = Counts(metrics[ROWS_OUT]["rows"], rejected)
        if OBSERVED in metrics:
            self.observed[batch] = as_values(metrics[OBSERVED])
        if SAMPLE in metrics:
            self.samples[batch] = list(metrics[SAMPLE]["rows"] or ())

    @property
    def reports(self) -> Mapping[int, dict[str, Any]]:
        """Batch -> Spark's report on it, of those that were computed."""
        return {batch: report for batch, report in self._last.items() if batch > self.written}

    @property
    def latest(self) -> int:
        """The last batch that the query has reported on, -1 for none."""
        return max(self._last, default=-1)

    def line(self, batch: Batch) -> str:
        """The line for the task log: batch, rows, rows/s, and what is left at each source."""
        report = self._last.get(batch.batch, {})
        seconds = report.get("batchDuration", 0) / 1000
        rows = batch.rows + batch.rejected
        speed = f"{rows / seconds:,.0f} rows/s" if seconds else "speed unknown"
        why = ", ".join(f"{count:,} {reason}" for reason, count in batch.reasons.items())
        rejected = f"{batch.rejected:,} rejected{f' ({why})' if why else ''}"
        own = self.observed.get(batch.batch, {})
        metrics = "".join(f", {name}: {value}" for name, value in own.items())
        read = counted(batch.rows, "row")
        done = f"batch {batch.batch}: {read}, {rejected}, {speed}"
        return f"{done}{self.remaining}{metrics}"

    def speed(self, batch: int) -> float | None:
        """Rows read per second of a batch, as the query reported it."""
        rows = self._last.get(batch, {}).get("processedRowsPerSecond")
        return None if rows is None else float(rows)
