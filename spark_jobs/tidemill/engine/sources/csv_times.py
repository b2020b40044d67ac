"""Timestamps of CSV files, read fast where their text has the usual form.

The default `timestampFormat` accepts what Spark reads without a format, but for times without a
date. What its parts that may be missing cost is saved by trying other ways before it, each of which
accepts less and reads it the same: a cast where every sign has its place, and a narrower format for
what may follow the seconds (Spark 4.2: 1.4 µs a text against 0.1 and 0.5).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from tidemill.engine.sources.columns import CORRUPT
from tidemill.spec.formats.rules import WITH_DATE
from tidemill.spec.sources.file import FileSource

_FORMAT = "timestampFormat"
_PARSED = "_tidemill_time"
# Where a text of this length has these signs and ends with a digit, a cast reads two digits for
# each of the others, or nothing. A regular expression would take three times as long as the cast.
_SIGNS = {len("2026-"): b"-", len("2026-03-01 12:"): b":", len("2026-03-01 12:30:"): b":"}
# What stands between date and time -> the format of a longer text.
_NARROW = {
    " ": "yyyy-MM-dd HH:mm:ss[.SSSSSSSSS][XXX]",
    "T": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS][XXX]",
}
_BETWEEN = len("2026-03-01") + 1
_SECONDS = len("2026-03-01 12:30:00")


def times_as_text(schema: StructType, source: FileSource) -> StructType:
    """The schema by which Spark reads the files: timestamps of the default format are texts.

    Args:
        schema: The spec's.
        source: How the files are read.
    """
    times = _times(schema, source)
    return StructType(
        [
            StructField(field.name, StringType()) if field.name in times else field
            for field in schema.fields
        ]
    )


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
    rows = rows.withColumns({parsed[name]: _timestamp(delivered[name]) for name in times})
    lost = F.lit(False)
    for name in times:
        lost |= delivered[name].isNotNull() & F.col(parsed[name]).isNull()
    record = F.when(lost, F.to_json(F.struct(*delivered.values())))
    found = {name: F.col(parsed[name]) for name in times}
    corrupt = F.coalesce(F.col(CORRUPT), record)
    return rows.withColumns({**found, CORRUPT: corrupt}).drop(*parsed.values())


def _times(schema: StructType, source: FileSource) -> tuple[str, ...]:
    """The columns with timestamps of the default format."""
    other = source.reader_option(_FORMAT) != WITH_DATE[_FORMAT] or source.reader_option("timeZone")
    if source.format != "csv" or other:
        return ()
    return tuple(field.name for field in schema.fields if isinstance(field.dataType, TimestampType))


def _timestamp(text: Column) -> Column:
    # Where it has no zone; a cast to a type with one would give "12:30" the date of today.
    usual = text.try_cast("timestamp_ntz").cast("timestamp")
    time = F.when(_is_usual(text), usual)
    for sign, form in _NARROW.items():
        fits = (F.length(text) > _SECONDS) & (F.substring(text, _BETWEEN, 1) == sign)
        time = time.when(fits, F.try_to_timestamp(text, F.lit(form)))
    return F.coalesce(time, F.try_to_timestamp(text, F.lit(WITH_DATE[_FORMAT])))


def _is_usual(text: Column) -> Column:
    # Places in bytes are found at once; those in a text Spark counts from its beginning.
    read = text.cast("binary")
    fits = F.length(read) == _SECONDS
    for place, sign in _SIGNS.items():
        fits &= F.substring(read, place, 1) == F.lit(sign)
    return fits & F.substring(read, _SECONDS, 1).between(F.lit(b"0"), F.lit(b"9"))
