"""Histories that are ready to be published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.histories import History
from tests.publish.warehouse import MariaDbWarehouse, PostgresWarehouse, Warehouse


@pytest.fixture
def make_history(tmp_path: Path) -> Callable[..., History]:
    """Makes the history of one pipeline, by `History`'s arguments."""

    def make(**changes: Any) -> History:
        return History(tmp_path / "pipeline", **changes)

    return make


@pytest.fixture
def history(make_history: Callable[..., History]) -> History:
    """An empty history with the default columns, partitioned by day."""
    return make_history()


@pytest.fixture(params=["postgres", "mariadb"])
def warehouse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """An empty database on each of the servers, with its connection in the environment."""
    kinds = {"postgres": PostgresWarehouse, "mariadb": MariaDbWarehouse}
    found = kinds[request.param](request.getfixturevalue(request.param))
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", found.connection)
    return found
