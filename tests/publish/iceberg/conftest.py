"""A history that is published to Delta and to an Iceberg table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History
from tests.support.iceberg_catalogue import Catalogue


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """An empty catalogue."""
    home = tmp_path / "catalogue"
    home.mkdir()
    return Catalogue(home)


@pytest.fixture
def history(make_history: Callable[..., History], catalogue: Catalogue) -> History:
    """An empty history."""
    return make_history(more=f"publish: [{{kind: delta}}, {catalogue.target}]")
