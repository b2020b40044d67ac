"""A generation of three batches, and looks at it that must not change it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.histories.history_builder import History, tree
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation

LAST = 2


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def open_(history: History) -> Generation:
    before = tree(history.root)
    try:
        return open_generation(history.pipeline)
    finally:
        assert tree(history.root) == before, "a look changed something"
