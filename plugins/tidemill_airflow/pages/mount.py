"""What Airflow's API server mounts: the pages, built at the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI


class _Pages:
    """Loads the application when it is first asked: scheduler and tasks load plugins too."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from tidemill_airflow.pages.app import build_app

            self._app = build_app()
        await self._app(scope, receive, send)


pages = _Pages()
