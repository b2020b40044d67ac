"""Values of partition folders that Spark cannot read as their column's type.

Its query fails then; of a number that is too great it makes another or null, without a word (4.2).
"""

import re
from calendar import monthrange
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from tidemill.contract.syntax.ddl import DdlType
from tidemill.spark_logs.partition_paths import NULL_PARTITION

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DAY = re.compile(r"[+-]?\d{4,7}(-(\d{1,2})(-(\d{1,2})([ T].*)?)?)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DATED = ("date", "timestamp", "timestamp_ltz", "timestamp_ntz")


def is_mistyped(text: str, kind: DdlType) -> bool:
    """Whether a value in a folder's name is not of a type, or beyond it.

    Only what is certain counts; Spark itself reports the rest.

    Args:
        text: The value, as it is in the name.
        kind: The type of its column.
    """
    value = unquote(text).strip()
    if value == NULL_PARTITION:
        return False
    if kind.name in _BITS:
        limit = 2 ** (_BITS[kind.name] - 1)
        return not _WHOLE.fullmatch(value) or not -limit <= int(value) < limit
    if kind.name in ("double", "float"):
        return not _HEXADECIMAL.match(value) and not _is_below(value.rstrip("dDfF"), "Infinity")
    if kind.name == "decimal":
        return not _is_below(value, f"1e{kind.precision - kind.scale}")
    if kind.name == "boolean":
        return value.lower() not in ("true", "false")
    return kind.name in _DATED and not _has_day(value)


def _is_below(value: str, limit: str) -> bool:
    """Whether a text is a number, and none beyond a limit."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return False
    return number.is_nan() or abs(number) <= Decimal(limit)


def _has_day(value: str) -> bool:
    found = _DAY.fullmatch(value)
    if found is None:
        return False
    month, day = (int(found[group] or 1) for group in (2, 4))
    # A leap day is Spark's to judge.
    return 1 <= month <= 12 and 1 <= day <= max(29 if month == 2 else 0, monthrange(2023, month)[1])
