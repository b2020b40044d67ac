"""Compares the rows of a preview with the expected ones of a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """What separates the rows that came from those that were expected.

    Args:
        missing: Expected rows that did not come.
        unexpected: Rows that came and were not expected, with the expected ones' columns.
    """

    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)


def difference(expected: Sequence[Row], came: Sequence[Row], zone: ZoneInfo) -> Difference:
    """Rows as sets in which a row may be several times; their order says nothing.

    Args:
        expected: With the columns that are compared, the same ones in each row.
        came: With all columns.
        zone: The zone of a time that is written without one.
    """
    if not expected:
        return Difference((), tuple(came))
    columns = expected[0].keys()
    left = [{name: row.get(name) for name in columns} for row in came]
    missing = []
    for row in expected:
        match = next((one for one in left if _equal(row, one, zone)), None)
        if match is None:
            missing.append(row)
        else:
            left.remove(match)
    return Difference(tuple(missing), tuple(left))


def _equal(expected: Any, came: Any, zone: ZoneInfo) -> bool:
    """Whether a value of YAML is a value of Spark's; a time or an amount may be text in YAML."""
    if isinstance(expected, Mapping) and isinstance(came, Mapping):
        return expected.keys() == came.keys() and all(
            _equal(value, came[name], zone) for name, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(came, (list, tuple)):
        return len(expected) == len(came) and all(map(_equal, expected, came, [zone] * len(came)))
    if isinstance(expected, bool) or isinstance(came, bool):
        return expected is came
    if isinstance(came, (datetime, date, time, Decimal)) and expected is not None:
        return bool(_read_as(came, str(expected), zone) == came)
    return bool(expected == came)


def _read_as(like: datetime | date | time | Decimal, text: str, zone: ZoneInfo) -> Any:
    """A text as a value of the type of another one; None where it cannot be one."""
    try:
        if isinstance(like, Decimal):
            return Decimal(text)
        if isinstance(like, datetime):
            found = datetime.fromisoformat(text)
            return found.replace(tzinfo=zone) if like.tzinfo and not found.tzinfo else found
        return type(like).fromisoformat(text)
    except (ValueError, InvalidOperation):
        return None
