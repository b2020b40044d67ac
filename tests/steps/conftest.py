"""Histories for the steps to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import History, reject, rows


@pytest.fixture
def history(tmp_path: Path) -> History:
    """An empty history with the default columns, partitioned by day."""
    return History(tmp_path / "pipeline")


@pytest.fixture
def published(history: History) -> History:
    """Two increments, published; nothing else."""
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2))
    history.publish()
    return history
