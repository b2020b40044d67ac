"""The wall clock, passed in wherever a document records a time, so that a test can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)
