"""Which calls of PySpark's functions are noted by file and line, for Spark to name in an error.

PySpark notes each function and operator of a column, by some ten calls to the JVM and a look at the
stack. What a user wrote is worth that; a user can change nothing about the engine's own columns.

Relies on `pyspark.errors.utils.is_debugging_enabled`, which each of these functions asks, and on
`_enable_debugging_cache` beside it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from pyspark.errors import utils


class _Thread(local):
    notes = False


_thread = _Thread()
_asked_for = utils.is_debugging_enabled


def _is_noted() -> bool:
    return _thread.notes and _asked_for()


utils.is_debugging_enabled = _is_noted


@contextmanager
def calls_noted() -> Iterator[None]:
    """This thread's calls are a user's, and noted, while the context lasts."""
    if not utils._enable_debugging_cache:
        # PySpark keeps the no of a thread without an active session for the whole process.
        utils._enable_debugging_cache = None
    _thread.notes = True
    try:
        yield
    finally:
        _thread.notes = False
