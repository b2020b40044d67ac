"""Timestamps in texts, read fast where a text has the usual form.

The default `timestampFormat` accepts what Spark reads without a format, but for times without a
date. What its parts that may be missing cost is saved by trying other ways before it, each of which
accepts less and reads it the same: a cast where every sign has its place, and a narrower format for
what may follow the seconds (Spark 4.2: 1.4 µs a text against 0.1 and 0.5).
"""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from tidemill.spec.formats.rules import WITH_DATE

FORMAT = "timestampFormat"
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


def times_of_default_format(schema: StructType, options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns whose texts are timestamps of the default format, in the zone of the session.

    Args:
        options: Those of Spark's reader.
    """
    given = {name.lower(): value for name, value in options.items()}
    if given.get(FORMAT.lower()) != WITH_DATE[FORMAT] or given.get("timezone"):
        return ()
    return tuple(field.name for field in schema.fields if isinstance(field.dataType, TimestampType))


def with_texts(schema: StructType, times: tuple[str, ...]) -> StructType:
    """The schema in which some columns are texts.

    Args:
        times: Those columns.
    """
    return StructType(
        [
            StructField(field.name, StringType()) if field.name in times else field
            for field in schema.fields
        ]
    )


def quick_time(text: Column) -> Column:
    """The timestamp that a text of a usual form stands for; null where it stands for none."""
    # Where it has no zone; a cast to a type with one would give "12:30" the date of today.
    usual = text.try_cast("timestamp_ntz").cast("timestamp")
    time = F.when(_is_usual(text), usual)
    for sign, form in _NARROW.items():
        fits = (F.length(text) > _SECONDS) & (F.substring(text, _BETWEEN, 1) == sign)
        time = time.when(fits, F.try_to_timestamp(text, F.lit(form)))
    return time


def _is_usual(text: Column) -> Column:
    # Places in bytes are found at once; those in a text Spark counts from its beginning.
    read = text.cast("binary")
    fits = F.length(read) == _SECONDS
    for place, sign in _SIGNS.items():
        fits &= F.substring(read, place, 1) == F.lit(sign)
    return fits & F.substring(read, _SECONDS, 1).between(F.lit(b"0"), F.lit(b"9"))
