"""Times, sizes and numbers as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidemill.contract.counted import counted

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def time_in_words(moment: datetime | None) -> str:
    """Such as `2026-03-01 12:00 UTC`; a dash for no time."""
    return "–" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago it was, such as `3 hours ago`."""
    return "–" if moment is None else f"{age_in_words(now - moment)} ago"


def age_in_words(age: timedelta | float) -> str:
    """A length of time in its greatest unit, such as `3 hours`.

    Args:
        age: Or its seconds.
    """
    seconds = age.total_seconds() if isinstance(age, timedelta) else age
    for unit, length in UNITS:
        if seconds >= length:
            return counted(int(seconds // length), unit)
    return "less than a minute"


def whole_number(number: int | None) -> str:
    """With separators, such as `1,234,567`; a dash for an unknown number."""
    return "–" if number is None else f"{number:,}"


def share(part: float | None) -> str:
    """A share of one in percent, such as `0.3 %`; one that is not 0 never looks like 0."""
    if part is None:
        return "–"
    return "< 0.1 %" if 0 < part < 0.001 else f"{part * 100:.1f} %"
