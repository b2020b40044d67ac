"""Histories by number: one of each pipeline in `make test`, many in `make test-long`.

A history follows from its seed, its test, its pipeline and its number, so that any of them can be
played alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.strategies import SearchStrategy

HISTORIES = int(os.environ.get("TIDEMILL_HISTORIES", "1"))
SEED = int(os.environ.get("TIDEMILL_SEED", "1"))
LONG = HISTORIES >= 20
# Tests whose histories take longer: people ask for things, processes of their own are
# killed, three pipelines play.
FEWER = {
    "test_and_after_any_history": HISTORIES // 4,
    "test_processes_that_are_killed_anywhere_break_no_promise": HISTORIES // 10,
    "test_and_after_any_history_of_shipped_pipelines": HISTORIES // 10,
}
SHRINK = bool(os.environ.get("TIDEMILL_SHRINK"))


def histories_of(test: str) -> int:
    """How many histories each case of a test has in the long mode.

    Args:
        test: The name of its function.
    """
    return FEWER.get(test, HISTORIES)


def numbered(names: Iterable[str], test: str = "") -> list[Any]:
    """The parameters `name` and `number` of a test.

    Args:
        names: The cases.
        test: The name of its function, where it has fewer histories than others.
    """
    if not LONG:
        return [pytest.param(name, 0, id=name) for name in names]
    return [
        pytest.param(name, number, id=f"{name}-{number}")
        for number in range(histories_of(test))
        for name in names
    ]


def new_folder(within: Path) -> Path:
    """A folder for one play of a history; one that is made small is played often."""
    return Path(tempfile.mkdtemp(dir=within))


def play_one(
    histories: SearchStrategy[Any],
    key: str,
    play: Callable[[Any], None],
    *,
    telling: Callable[[Any], bool],
    examples: int = 1,
) -> None:
    """Draw a history, and play it.

    Args:
        key: Together with the seed it says which history that is.
        telling: Whether a history has enough in it for `make test`, which plays no other.
        examples: How many are drawn and played, where each takes a moment only.
    """
    tried = []

    @seed(crc32(key.encode() if not LONG else f"{SEED}/{key}".encode()))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, *([Phase.shrink] if SHRINK else [])],
        print_blob=LONG,
        suppress_health_check=[*HealthCheck],
    )
    @given(histories)
    def holds(events: Any) -> None:
        # The first that Hypothesis tries is the smallest of all.
        tried.append(events)
        assume(len(tried) > 1 if LONG else telling(events))
        play(events)

    with patch.object(HypothesisProvider, "_maybe_draw_constant", _no_constant):
        holds()


def _no_constant(*_: object, **__: object) -> None:
    """Nothing, where Hypothesis takes a value from the modules that a process has loaded."""
