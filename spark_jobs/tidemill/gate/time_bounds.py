"""Bounds of dates and timestamps, written so that both engines compare alike.

Great Expectations reads `"2011-01-01"` as a date and `"2011-01-01T00:00:00"` as a time without
zone. pandas refuses to compare a timestamp with a date; Spark takes a time without zone in the zone
of the driver's machine. Here a time without zone is always one of the spec's time zone.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from tidemill.gate.columns import Column

BOUNDS = ("min_value", "max_value")
_AGGREGATES = ("expect_column_min_to_be_between", "expect_column_max_to_be_between")


def is_bound_of(column: Column, bound: Any) -> bool:
    """Whether a bound is a time that a column of this type can be compared with."""
    when = _when(bound)
    if when is None:
        return False
    return column.kind == "timestamp" or (column.kind == "date" and _is_day(when))


def on_pandas(kwargs: Mapping[str, Any], column: Column, zone: str) -> dict[str, Any]:
    """The bounds as wall-clock times of the zone, which is what the frame holds, also for dates."""
    return _each(kwargs, column, lambda when: _wall_clock(when, zone).isoformat())


def on_spark(kind: str, kwargs: Mapping[str, Any], column: Column, zone: str) -> dict[str, Any]:
    """The bounds as dates, or as instants; for `min` and `max`, which Python compares, as here."""
    if column.kind == "date":
        return _each(kwargs, column, lambda when: when.date().isoformat())
    if kind in _AGGREGATES:
        return on_pandas(kwargs, column, zone)
    return _each(kwargs, column, lambda when: _instant(when, zone).isoformat())


def _each(
    kwargs: Mapping[str, Any], column: Column, say: Callable[[datetime], str]
) -> dict[str, Any]:
    said = dict(kwargs)
    for name in BOUNDS:
        when = _when(said.get(name))
        if when is not None and is_bound_of(column, said[name]):
            said[name] = say(when)
    return said


def _when(bound: Any) -> datetime | None:
    if isinstance(bound, datetime):
        return bound
    if isinstance(bound, date):
        return datetime.combine(bound, time())
    try:
        return datetime.fromisoformat(bound) if isinstance(bound, str) else None
    except ValueError:
        return None


def _is_day(when: datetime) -> bool:
    return when.time() == time() and when.tzinfo is None


def _wall_clock(when: datetime, zone: str) -> datetime:
    return when.astimezone(ZoneInfo(zone)).replace(tzinfo=None) if when.tzinfo else when


def _instant(when: datetime, zone: str) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=ZoneInfo(zone))
