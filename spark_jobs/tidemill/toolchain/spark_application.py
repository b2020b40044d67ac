"""The Spark application of this process, which has one at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidemill.contract.report import LostExecutor, SparkApplication

_current: SparkApplication | None = None
_lost: Callable[[], Sequence[LostExecutor] | None] | None = None


def remember(
    application: SparkApplication,
    lost: Callable[[], Sequence[LostExecutor] | None] | None = None,
) -> None:
    """Keep what tells it apart, for whoever asks when its JVM has ended.

    Args:
        lost: Tells the executors that it has lost so far; None when its JVM does not answer.
    """
    global _current, _lost
    _current, _lost = application, lost


def current() -> SparkApplication | None:
    """The application, with the executors it has lost; None before a session is opened."""
    global _current
    lost = _lost() if _lost is not None else None
    if _current is not None and lost:
        _current = _current.model_copy(update={"lost_executors": tuple(lost)})
    return _current
