"""Event time by hand: milliseconds, times and windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = 60_000
HOUR = 60 * MINUTE


def time_of_ms(milliseconds: int) -> datetime:
    """A time, from milliseconds since the epoch."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def ms_of_time(text: str) -> int:
    """Milliseconds since the epoch, from an ISO time with its zone."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def windows_of(time_ms: int, size_ms: int, slide_ms: int) -> list[tuple[int, int]]:
    """The windows that a time is in, as begin and end."""
    latest = time_ms // slide_ms * slide_ms
    begins = range(latest, time_ms - size_ms, -slide_ms)
    return [(begin, begin + size_ms) for begin in begins]
