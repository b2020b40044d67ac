"""Keeps Tidemill's errors raised inside Spark callbacks, of which Spark passes on only the text."""

from tidemill.contract.errors import TidemillError

_RAISED: dict[str, TidemillError] = {}


def keep(query: str, error: TidemillError) -> None:
    """Keep an error that is about to stop a query.

    Args:
        query: The query's name, of which one runs in a process at a time.
        error: What the step's report shall say.
    """
    _RAISED[query] = error


def take(query: str) -> TidemillError | None:
    """The error that was kept for a query, which is forgotten then."""
    return _RAISED.pop(query, None)
