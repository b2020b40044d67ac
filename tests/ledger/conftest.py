"""Histories whose parts can be taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import History, rows
from tests.ledger.generations import LAST


@pytest.fixture
def history(tmp_path: Path) -> History:
    """An empty history with the default columns, partitioned by day."""
    return History(tmp_path / "pipeline")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lease"


@pytest.fixture
def run(history: History) -> History:
    """Three batches, committed and in the ledger."""
    for number in range(LAST + 1):
        history.batch(rows(number))
    return history
