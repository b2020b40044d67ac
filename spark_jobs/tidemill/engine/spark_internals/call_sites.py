"""Which calls of PySpark's functions are noted by file and line, for Spark to name in an error.

PySpark notes each function and operator of a column, by some ten calls to the JVM and a look at the
stack. What a user wrote is worth that; of a column of the engine's own a user can change nothing.

Relies on `pyspark.errors.utils.is_debugging_enabled`, which each of these functions asks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from pyspark.errors import utils


class _Thread(local):
    notes = True


_thread = _Thread()
_asked_for = utils.is_debugging_enabled


def _is_noted() -> bool:
    return _thread.notes and _asked_for()


utils.is_debugging_enabled = _is_noted


@contextmanager
def calls_noted(notes: bool) -> Iterator[None]:
    """Whether this thread's calls are noted while the context lasts."""
    before, _thread.notes = _thread.notes, notes
    try:
        yield
    finally:
        _thread.notes = before
