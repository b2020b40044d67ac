"""The clock and chance in a Spark SQL text, found without Spark."""

import re
from collections.abc import Collection, Iterator

from tidemill.contract.syntax.sql_text import Token, tokens

_FUNCTIONS = frozenset(
    re.findall(
        r"[\w.]+",
        """
        curdate current_date current_time current_timestamp localtimestamp now
        monotonically_increasing_id rand randn random randstr shuffle
        spark_partition_id uniform uuid
        """,
    )
)
# Spark reads them as functions also without brackets, where no column has such a name.
_WITHOUT_BRACKETS = frozenset(
    ("current_date", "current_time", "current_timestamp", "localtimestamp")
)
_TYPES = frozenset(("date", "timestamp", "timestamp_ltz", "timestamp_ntz"))
# What Spark makes of such a text has the date of the day on which it is read.
_OF_TODAY = re.compile(
    r"\s*(?:now|today|tomorrow|yesterday)\b.*|\s*T?\d{1,2}:\d.*|\s*T\d{1,2}.*",
    re.IGNORECASE | re.DOTALL,
)


def is_of_today(text: str) -> bool:
    """Whether a text has the date of the day on which Spark makes a timestamp or date of it."""
    return _OF_TODAY.fullmatch(text) is not None


def unrepeatable_in_sql(sql: str, columns: Collection[str] = ()) -> list[str]:
    """What a text uses that gives another value the next time, such as `current_date()`.

    Args:
        sql: An expression or a SELECT.
        columns: That it may name.
    """
    return list(dict.fromkeys(_unrepeatable(sql, {column.lower() for column in columns})))


def _unrepeatable(sql: str, columns: set[str]) -> Iterator[str]:
    end = Token("", "")
    parts = [end, *tokens(sql), end, end]
    for before, part, after, next_ in zip(parts, parts[1:], parts[2:], parts[3:], strict=False):
        word = part.name.lower()
        if before.text == ".":
            continue
        called = after.text == "("
        bare = word in _WITHOUT_BRACKETS and word not in columns and part.text == part.name
        if bare or (called and word in _FUNCTIONS):
            yield f"{word}()"
        elif word == "unix_timestamp" and called and next_.text == ")":
            yield "unix_timestamp()"
        elif word in _TYPES and after.text[:1] in ("'", '"') and is_of_today(after.text[1:-1]):
            yield f"{word}{after.text}"
