"""The steps around a query of a pipeline with a long past, against one with a short past."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from tests.bench.measure import Cost, cost_of
from tests.bench.results import Side
from tests.support.histories.history_builder import History
from tests.support.histories.long_history import long_history

SHORT = 50
# Files that each increment has read.
FILES = 20


class PastSides:
    """Two pipelines that have nothing new to judge or to publish.

    Args:
        home: An empty folder.
        increments: What the one with the long past has published; a multiple of 10.
    """

    def __init__(self, home: Path, increments: int) -> None:
        self.long = long_history(home / "long", increments, files=FILES)
        self.short = long_history(home / "short", SHORT, files=FILES)

    def sides(self, *steps: str) -> tuple[Side, Side]:
        return partial(_cost, self.long, steps), partial(_cost, self.short, steps)


def _cost(history: History, steps: tuple[str, ...]) -> Cost:
    command = [sys.executable, "-m", "tidemill.main"]
    return cost_of(
        [[*command, step, history.name, "--run-id", "bench"] for step in steps],
        {**os.environ, **history.environ},
    )
