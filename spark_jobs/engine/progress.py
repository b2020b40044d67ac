"""What a running query says of itself: one line per batch, and why it ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.errors import TidemillError, TransientError
from spark_jobs.engine import raised
from spark_jobs.engine.observed import OBSERVED, as_values
from spark_jobs.engine.query import ROWS_READ
from spark_jobs.engine.ungated import ROWS_OUT, SAMPLE
from spark_jobs.ledger.batch import Batch, Counts
from spark_jobs.ledger.kafka_range import as_offsets, between, records_in
from spark_jobs.ledger.look import Look
from spark_jobs.ledger.partition_values import disk_path

# SQLSTATE classes of errors that come back at every retry: data exceptions, user functions,
# syntax, unsupported features.
HOPELESS = ("22", "38", "39", "42", "0A", "54", "P0")
# Errors that Spark wraps without a SQLSTATE of their own.
HOPELESS_TEXTS = ("PythonException", "CSV header does not conform to the schema")
# How Spark names a file that it could not read, in two places.
UNREADABLE = re.compile(
    r"(?:Encountered error while reading file|CSV file:) (file:\S+?)\.?(?:\s|$)"
)
# A file system that stumbled, not a file that is wrong.
STUMBLES = ("Input/output error", "Stale file handle", "timed out", "Too many open files")
TRACEBACK = "Traceback (most recent call last):"
RACES = ("CONCURRENT_STREAM_LOG_UPDATE", "Race while writing batch")


class QueryFailed(TidemillError):
    """The query stopped with an error that a retry will meet again; carries `condition`."""


class FileUnreadable(QueryFailed):
    """A file of a source cannot be read as the spec says; carries `file` and `condition`."""


class QueryInterrupted(TransientError):
    """The query stopped with an error that may be gone at the next try; carries `condition`."""


@dataclass
class Progress:
    """Collects the progress of one query.

    Attributes:
        backlog: Source -> what waits to be read; with availableNow Spark does not say.
        written: The last batch that the sink held before the query started, -1 for none. Where
            Spark had not committed it the sink passes over it now: nothing of it is computed, and
            what is reported of it is of no rows.
        rows_in: Batch -> rows read.
        counts: Batch -> what was counted of it, for a sink that leaves no files.
        samples: Batch -> some of its rows as JSON, where they are shown.
        observed: Batch -> the spec's own metrics of it.
    """

    backlog: Mapping[str, Look]
    written: int = -1
    rows_in: dict[int, int] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    samples: dict[int, list[str]] = field(default_factory=dict)
    observed: dict[int, dict[str, Any]] = field(default_factory=dict)
    _last: dict[int, dict[str, Any]] = field(default_factory=dict)
    _read: Counter[str] = field(default_factory=Counter)

    def look(self, query: StreamingQuery) -> None:
        """Take in what the query reported since the last look."""
        for report in query.recentProgress:
            # A query without new data reports on the batch to come, which did not run yet.
            if "addBatch" in report["durationMs"]:
                self._take_in(report["batchId"], dict(report))

    def _take_in(self, batch: int, report: dict[str, Any]) -> None:
        self._last[batch] = report
        if batch <= self.written:
            return
        metrics = report.get("observedMetrics") or {}
        counted = [m for name, m in metrics.items() if name.startswith(ROWS_READ)]
        rows = sum(m["rows"] for m in counted) if counted else report["numInputRows"]
        self.rows_in[batch] = int(rows)
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
        left = "".join(self._left(look, batch) for look in self.backlog.values())
        why = ", ".join(f"{count:,} {reason}" for reason, count in batch.reasons.items())
        rejected = f"{batch.rejected:,} rejected{f' ({why})' if why else ''}"
        own = self.observed.get(batch.batch, {})
        metrics = "".join(f", {name}: {value}" for name, value in own.items())
        return f"batch {batch.batch}: {batch.rows:,} rows, {rejected}, {speed}{left}{metrics}"

    def speed(self, batch: int) -> float | None:
        """Rows read per second of a batch, as the query reported it."""
        rows = self._last.get(batch, {}).get("processedRowsPerSecond")
        return None if rows is None else float(rows)

    def _left(self, look: Look, batch: Batch) -> str:
        """What one source still has of what was there at the start."""
        if look.new is None:
            return ""
        if "ends" in look.facts:
            reached = as_offsets(batch.offsets.get(look.source))
            left = records_in(between(reached, look.facts["ends"]))
        else:
            self._read[look.source] += sum(1 for file in batch.inputs if file.source == look.source)
            left = max(0, look.new - self._read[look.source])
        return f", {look.source}: {left:,} {look.unit} left"


def why(query: StreamingQuery) -> TidemillError | None:
    """The query's error as one of ours, or None if it ended well."""
    error = query.exception()
    if error is None:
        return None
    return raised.take(query.name or "") or of_spark(error)


def of_spark(error: PySparkException) -> TidemillError:
    """An error of Spark's, told apart by whether a retry can help."""
    condition, state, text = _said(error)
    first = _shortened(text)
    if any(race in text for race in RACES):
        return QueryInterrupted(
            f"Another driver wrote to the same checkpoint: {first}",
            remedy="The retry carries on from the last committed batch.",
            condition=condition,
        )
    unreadable = UNREADABLE.search(text)
    if unreadable and not any(stumble in text for stumble in STUMBLES):
        file = disk_path(unreadable[1])
        return FileUnreadable(
            f"{file} cannot be read as the spec says: {_last(text)}",
            remedy="Put the whole file in its place, or mend the spec; the batch then runs again.",
            file=file,
            condition=condition,
        )
    # The analyser refuses a plan for ever, also where it gives no SQLSTATE (continuous queries).
    planned = isinstance(error, AnalysisException)
    if planned or state.startswith(HOPELESS) or any(word in text for word in HOPELESS_TEXTS):
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


def _last(text: str) -> str:
    """The innermost error alone."""
    return " ".join(text.rpartition(" Caused by: ")[2].split())[:300]


def _shortened(text: str) -> str:
    """The first error and the last, which is the one to mend, in some 600 characters."""
    causes = [" ".join(_without_trace(cause).split()) for cause in text.split(" Caused by: ")]
    return " Caused by: ".join(dict.fromkeys(cause[:300] for cause in (causes[0], causes[-1])))


def _without_trace(cause: str) -> str:
    """An error of a Python worker without the lines of code that led to it."""
    head, *traces = cause.split(TRACEBACK)
    said = [line for line in "".join(traces[-1:]).splitlines() if line and not line[0].isspace()]
    return f"{head}{said[0]}" if said else cause


def _said(error: PySparkException) -> tuple[str, str, str]:
    """Condition and SQLSTATE of the innermost error that has them, and what all of them say."""
    condition, state, texts = type(error).__name__, "", []
    link: Any = error
    while link is not None:
        texts.append(getattr(link, "_desc", None) or str(link))
        if link.getCondition():
            condition, state = link.getCondition(), link.getSqlState() or ""
        link = getattr(link, "_cause", None)
    return condition, state, " Caused by: ".join(texts)
