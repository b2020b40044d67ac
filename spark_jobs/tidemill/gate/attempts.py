"""Tries what other people's servers and code may refuse, and remembers what was missed."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

from tidemill.gate.gx_internals import loggers

Found = TypeVar("Found")

# The actions that Great Expectations ships ask for no end of their requests.
PATIENCE_SECONDS = 60
LONGEST_TEXT = 200
# Addresses of webhooks are secrets, and so are passwords in addresses.
_ADDRESS = re.compile(r"(\w+://)(?:[^/\s@]*@)?([^/\s'\"]+)[^\s'\"]*")
_PATH = re.compile(r"(?i)(url: )/\S+")
_ACTIONS = logging.getLogger(loggers.ACTIONS)


class Attempts:
    """What was tried, and what of it was missed."""

    def __init__(self) -> None:
        self._missed: list[str] = []

    @property
    def missed(self) -> tuple[str, ...]:
        """One sentence each."""
        return tuple(self._missed)

    def miss(self, name: str, why: object) -> None:
        kind = f"{type(why).__name__}: " if isinstance(why, Exception) else ""
        self._missed.append(f"{name}: {kind}{_discreet(str(why))}")

    def make(self, name: str, call: Callable[[], Found]) -> Found | None:
        """What a call returns; None where it fails, or does not end in time."""
        returned: list[Found] = []
        raised: list[Exception] = []

        def run() -> None:
            try:
                returned.append(call())
            except Exception as error:  # noqa: BLE001 - whatever code of the user raises
                raised.append(error)

        thread = Thread(target=run, daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        if returned:
            return returned[0]
        self.miss(name, raised[0] if raised else f"not done after {PATIENCE_SECONDS} seconds")
        return None

    def act(self, name: str, call: Callable[[], Any]) -> None:
        """Run an action; those that Great Expectations ships only log that a server refused."""
        with _logged() as lines:
            said = self.make(name, call)
        values = said.values() if isinstance(said, dict) else ()
        if lines and any(one is None or one is False for one in values):
            self.miss(name, lines[-1])


@contextmanager
def _logged() -> Iterator[list[str]]:
    """The warnings that actions log meanwhile."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    level, propagate = _ACTIONS.level, _ACTIONS.propagate
    _ACTIONS.addHandler(handler)
    _ACTIONS.setLevel(logging.WARNING)
    _ACTIONS.propagate = False
    try:
        yield lines
    finally:
        _ACTIONS.removeHandler(handler)
        _ACTIONS.setLevel(level)
        _ACTIONS.propagate = propagate


def _discreet(text: str) -> str:
    """One short line without secrets."""
    line = " ".join(text.split())
    return _PATH.sub(r"\1…", _ADDRESS.sub(r"\1\2", line))[:LONGEST_TEXT]
