"""Airflow's own API server with our pages in it, and users of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


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
