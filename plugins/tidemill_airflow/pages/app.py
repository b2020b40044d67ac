"""The application of all pages: one router per page."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from tidemill.contract.errors import TidemillError
from tidemill_airflow.pages import (
    docs_page,
    increment_page,
    pipeline_page,
    pipelines_page,
    run_page,
)
from tidemill_airflow.pages.rendering import render

ROUTERS = (
    docs_page.router,
    increment_page.router,
    run_page.router,
    pipeline_page.router,
    pipelines_page.router,
)


def build_app() -> FastAPI:
    app = FastAPI(title="Tidemill", docs_url=None, redoc_url=None, openapi_url=None)
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _refusal)  # type: ignore[arg-type] # of its own kind
    app.add_exception_handler(TidemillError, _no_answer)  # type: ignore[arg-type] # the same
    return app


async def _no_answer(_: Request, error: TidemillError) -> Response:
    """A page for what the API server's own environment lacks, or a store that does not answer."""
    return render("refusal.html", status=503 if error.transient else 500, reason=str(error))


async def _refusal(request: Request, error: HTTPException) -> Response:
    """A page that says why there is no page; JSON for whoever did not ask for HTML."""
    if "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, error)
    return render("refusal.html", status=error.status_code, reason=error.detail)
