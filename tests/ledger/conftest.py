"""Histories whose parts can be taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    """An empty history with the default columns, partitioned by day."""
    return History(tmp_path / "pipeline")
