"""The partitions of a pipeline that rows of another one's partitions go into, without Spark.

They may be more than those that really changed, never fewer: where nothing tells them apart it is
the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tidemill.contract.errors import TidemillError
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.file_formats.delta_changes import Version
from tidemill.file_formats.parquet import Footer, read_footer
from tidemill.journal.interval_partitions import interval_partitions
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.windows import Windows
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.spec import Spec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# The first and the last time of some rows, in microseconds; without a zone as if it were UTC.
Span = tuple[int, int]


def affected(spec: Spec, source: str, version: Version, note: GenerationNote) -> Partitions:
    """The partitions that may hold what became of swapped rows.

    Args:
        source: The table source that reads them.
        version: The version of its table that swapped them.
        note: The note of the generation that made the partitions.
    """
    if not spec.output.partition_by:
        return Partitions()
    return (
        _of_times(spec, source, version, note)
        or (note.pipeline_class is PipelineClass.MAP and _of_values(spec, source, version))
        or Partitions()
    )


def not_final(
    spec: Spec, source: str, version: Version, note: GenerationNote, watermark_ms: int
) -> Partitions | None:
    """The partitions of windows that are still open at a watermark, as far as swapped rows reach.

    Returns:
        None where there are no windows, or nothing tells their partitions.
    """
    span, naive = _span(spec, source, version)
    if span is None or not note.windows:
        return None
    first = min(one.first_start(watermark_ms * 1000) for one in note.windows)
    last = max(one.last_start(span[1]) for one in note.windows)
    return _between(spec, (first, max(first, last)), naive=naive)


def _of_times(spec: Spec, source: str, version: Version, note: GenerationNote) -> Partitions | None:
    span, naive = _span(spec, source, version)
    if span is None:
        return None
    if note.pipeline_class is not PipelineClass.MAP and not _of_rows(spec):
        if not note.windows:
            return None
        span = _of_windows(spec, span, note.windows)
    return _between(spec, span, naive=naive)


def _of_rows(spec: Spec) -> bool:
    """Whether the partitions are told by the sources' rows, and not by the result's windows."""
    known = {column for source in spec.sources.values() for column in source.columns}
    return all("." not in sql and known & _words(sql) for sql in spec.output.partition_by.values())


def _of_windows(spec: Spec, span: Span, windows: Iterable[Windows]) -> Span:
    """From the first start to the last start or end of the windows that rows go into."""
    first, last = span
    some = [*windows]
    by_start = len(some) == 1 and all(".start" in sql for sql in spec.output.partition_by.values())
    if by_start:
        return some[0].first_start(first), some[0].last_start(last)
    # The windows of windows: each goes on where the one before it ends.
    for one in some:
        first, last = one.first_start(first), one.end_of_last(last + 1)
    return first, last


def _between(spec: Spec, span: Span, *, naive: bool) -> Partitions | None:
    zone = ZoneInfo(spec.timezone) if naive else UTC
    first, last = (
        (EPOCH + at * MICROSECOND).replace(tzinfo=None).replace(tzinfo=zone).astimezone(UTC)
        for at in span
    )
    return interval_partitions(spec, first, last + MICROSECOND)


def _of_values(spec: Spec, source: str, version: Version) -> Partitions | None:
    """The partitions whose values are those of partitions upstream, column by column."""
    columns = spec.sources[source].columns
    copied = {
        name: sql.strip()
        for name, sql in spec.output.partition_by.items()
        if sql.strip() in columns and all(sql.strip() in one for one in version.swapped)
    }
    values = [tuple(one[theirs] for theirs in copied.values()) for one in version.swapped]
    if not copied or (not spec.output.keeps_null_partition and any(None in one for one in values)):
        return None
    named = {tuple(NULL_PARTITION if v is None else v for v in one) for one in values}
    return Partitions(columns=tuple(copied), values=tuple(sorted(named)))


def _span(spec: Spec, source: str, version: Version) -> tuple[Span | None, bool]:
    """The event times of swapped rows, and whether they are without a zone; None if unknown."""
    event_time = spec.event_time_of(source)
    if event_time is None or not version.touched:
        return None, False
    column, spans, naive = event_time.column, [], False
    for path in version.touched:
        footer = _footer(path)
        if footer is None or (footer.rows and footer.null_counts.get(column) != 0):
            return None, False
        if not footer.rows:
            continue
        least, most = footer.min_values.get(column), footer.max_values.get(column)
        if not isinstance(least, date) or not isinstance(most, date):
            return None, False
        naive = naive or not isinstance(least, datetime) or least.tzinfo is None
        spans += [_micros(least), _micros(most)]
    return ((min(spans), max(spans)) if spans else None), naive


def _micros(at: date) -> int:
    moment = at if isinstance(at, datetime) else datetime.combine(at, time.min)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH) // MICROSECOND


@lru_cache(maxsize=4096)
def _footer(path: str) -> Footer | None:
    """A data file's footer, which never changes; None where the file is gone."""
    try:
        return read_footer(path_of(path))
    except TidemillError:
        return None


def _words(sql: str) -> set[str]:
    return {word.strip("`") for word in sql.replace("(", " ").replace(")", " ").split()}
