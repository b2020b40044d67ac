"""The partitions of an interval without Spark, where they are plain days, hours, months or years.

They may be more than Spark's, never fewer: around a change of the clock, and where an event time is
a date.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tidemill.journal.partition_set import Partitions
from tidemill.spec.spec import Spec

QUARTER, LAST = timedelta(minutes=15), timedelta(microseconds=1)
CALL = re.compile(r"\s*(\w+)\(\s*(\w+)(?:\.\w+)?\s*(?:,\s*'([^']*)')?\s*\)\s*", re.ASCII)
FIELDS: dict[str, Callable[[datetime], str]] = {
    "to_date": lambda at: f"{at:%Y-%m-%d}",
    "date": lambda at: f"{at:%Y-%m-%d}",
    "year": lambda at: str(at.year),
    "month": lambda at: str(at.month),
    "day": lambda at: str(at.day),
    "dayofmonth": lambda at: str(at.day),
    "hour": lambda at: str(at.hour),
}
# The letters of Spark's date_format that mean what strftime's do.
LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H"}
PATTERN = re.compile(rf"(?:{'|'.join(LETTERS)}|[-_/. :])+")


def interval_partitions(spec: Spec, start: datetime, end: datetime) -> Partitions | None:
    """The whole partitions that an interval touches; None where only Spark can tell.

    Args:
        start: Inclusive.
        end: Exclusive.
    """
    fields = _fields_of_time(spec)
    if not fields:
        return None
    walls = _walls(start, end, ZoneInfo(spec.timezone))
    values = {tuple(field(at) for field in fields.values()) for at in walls}
    return Partitions(columns=tuple(fields), values=tuple(sorted(values)))


def _fields_of_time(spec: Spec) -> dict[str, Callable[[datetime], str]] | None:
    """Partition column -> its value at a time; None where an expression is another one."""
    times = {time.column if time else "" for time in map(spec.event_time_of, spec.sources)}
    if "" in times:
        return None
    known = {column for source in spec.sources.values() for column in source.columns}
    named = {name: set(re.findall(r"\w+", sql)) for name, sql in spec.output.partition_by.items()}
    of_rows = {name for name, words in named.items() if len(times) == 1 and times & words & known}
    calls = [
        (name, CALL.fullmatch(sql))
        for name, sql in spec.output.partition_by.items()
        if name in of_rows or not of_rows
    ]
    columns = {call[2] if call else None for _, call in calls}
    if None in columns or len(columns) != 1 or (not of_rows and columns & known):
        return None
    fields = {name: _field(call) for name, call in calls if call}
    return None if None in fields.values() else {n: f for n, f in fields.items() if f}


def _field(call: re.Match[str]) -> Callable[[datetime], str] | None:
    name, pattern = call[1].lower(), call[3]
    if pattern is None:
        return FIELDS.get(name)
    if name != "date_format" or not PATTERN.fullmatch(pattern):
        return None
    for letters, code in LETTERS.items():
        pattern = pattern.replace(letters, code)
    return lambda at: at.strftime(pattern)


def _walls(start: datetime, end: datetime, zone: ZoneInfo) -> set[datetime]:
    """What the clock on the wall shows in an interval, each quarter of an hour and at both ends."""
    steps = range((end - start) // QUARTER + 1)
    instants = [*(start + number * QUARTER for number in steps), end - LAST]
    shown = {at.astimezone(zone).replace(tzinfo=None) for at in instants if at < end}
    first, last = min(shown), max(shown)
    # An hour that is skipped in spring, too: event times without a zone may be in it.
    return shown | {first + number * QUARTER for number in range((last - first) // QUARTER + 1)}
