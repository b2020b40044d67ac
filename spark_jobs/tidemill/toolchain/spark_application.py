"""The Spark application of this process, which has one at most."""

from __future__ import annotations

from tidemill.contract.report import SparkApplication

_current: SparkApplication | None = None


def remember(application: SparkApplication) -> None:
    """Keep what tells it apart, for whoever asks when its JVM has ended."""
    global _current
    _current = application


def current() -> SparkApplication | None:
    """The application; None before a session is opened."""
    return _current
