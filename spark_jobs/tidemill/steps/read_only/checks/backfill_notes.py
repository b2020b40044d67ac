"""Notes on partitions that time does not tell, so that no interval of them can be backfilled."""

from collections.abc import Iterator

from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.spark_sql import words_of


def backfill_note(name: str, spec: Spec) -> Iterator[str]:
    """The sentence about one pipeline; none where an interval tells its partitions."""
    partitions = spec.output.partition_by
    times = [spec.event_time_of(source) for source in spec.sources]
    columns = {time.column for time in times if time is not None}
    # One that names no column of a source is made of a window.
    known = {"_metadata", *(name for one in spec.sources.values() for name in one.columns)}
    timed = [sql for sql in partitions.values() if _names(sql, columns) or not _names(sql, known)]
    if not spec.published or not partitions or (timed and len(columns) > 0):
        return
    values = "/".join(f"{column}=VALUE" for column in partitions)
    yield (
        f"{name}: no event time tells its partitions ({', '.join(partitions)}), so an interval "
        f"cannot be backfilled. Name partitions: tidemill backfill {name} --partition {values}; "
        f"with state between batches only this helps: tidemill rebuild {name} --reason TEXT."
    )


def _names(sql: str, columns: set[str]) -> bool:
    words = {word.lower() for word in words_of(sql)}
    return any(column.lower() in words for column in columns)
