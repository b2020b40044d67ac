"""Airflow's own API server with our pages in it, and users of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject, rows


@pytest.fixture(scope="session")
def api(airflow_database: None) -> Iterator[Any]:
    """A client of Airflow's own API server, with our plugin in it."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    with TestClient(create_app(apps="core"), base_url="http://127.0.0.1") as client:
        yield client


def token(role: str | None) -> dict[str, str]:
    """The header of a logged-in user.

    Args:
        role: Such as `viewer`; None for a user who may do nothing.
    """
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="somebody", role=role)
    return {"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A published increment, a held one with a rejected row, and one that waits."""
    history = History(tmp_path)
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), [reject("2;<script>alert(1)</script>")], outcome="held")
    history.increment(rows(3))
    return history
