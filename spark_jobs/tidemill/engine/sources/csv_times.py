"""Timestamps of CSV files of the default format, which Spark reads as texts first."""

from functools import reduce
from operator import or_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.sources.columns import CORRUPT
from tidemill.engine.sources.quick_times import (
    FORMAT,
    quick_time,
    times_of_default_format,
    with_texts,
)
from tidemill.spec.formats.rules import WITH_DATE
from tidemill.spec.sources.file import FileSource

_PARSED = "_tidemill_time"


def times_as_text(schema: StructType, source: FileSource) -> StructType:
    """The schema by which Spark reads the files: timestamps of the default format are texts.

    Args:
        schema: The spec's.
        source: How the files are read.
    """
    return with_texts(schema, _times(schema, source))


def with_times(rows: DataFrame, schema: StructType, source: FileSource) -> DataFrame:
    """Rows whose texts have become timestamps; one with another text is malformed.

    Args:
        rows: As read by `times_as_text`, with `_corrupt`.
        schema: The spec's.
        source: How the files are read.
    """
    times = _times(schema, source)
    if not times:
        return rows
    delivered = {name: F.col(f"`{name}`") for name in schema.names}
    # In one step with what asks for it Spark would parse each text twice.
    parsed = {name: f"{_PARSED}_{number}" for number, name in enumerate(times)}
    rows = rows.withColumns(
        {
            parsed[name]: F.coalesce(
                quick_time(delivered[name]),
                F.try_to_timestamp(delivered[name], F.lit(WITH_DATE[FORMAT])),
            )
            for name in times
        }
    )
    found = {name: F.col(parsed[name]) for name in times}
    lost = reduce(or_, (delivered[name].isNotNull() & found[name].isNull() for name in times))
    record = F.when(lost, F.to_json(F.struct(*delivered.values())))
    corrupt = F.coalesce(F.col(CORRUPT), record)
    return rows.withColumns({**found, CORRUPT: corrupt}).drop(*parsed.values())


def _times(schema: StructType, source: FileSource) -> tuple[str, ...]:
    if source.format != "csv":
        return ()
    return times_of_default_format(schema, source.reader_options)
