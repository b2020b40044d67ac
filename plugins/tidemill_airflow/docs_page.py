"""Great Expectations' pages within Airflow, for users who may read the pipeline's DAG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidemill.contract.docs_policy import WITHIN_AIRFLOW
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.spec.pipeline import open_pipeline, root

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

# Great Expectations' pages load scripts from public servers and quote the data that they judged;
# within Airflow's own origin these would act as the user. They read well without any script.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "; ".join(WITHIN_AIRFLOW),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def find_page(docs: Path, path: str) -> Path | None:
    """A file under the docs folder, or None: also where a link or `..` leads out of it."""
    try:
        inside, page = docs.resolve(), (docs / path).resolve()
        return page if page.is_relative_to(inside) and page.is_file() else None
    except (OSError, ValueError):
        return None


def dag_of(pipeline: str) -> str:
    """The DAG whose readers may see a pipeline's pages: in a group that of the group.

    Args:
        pipeline: Its name, as an address has it; whatever has no spec goes by its own name.
    """
    try:
        return open_pipeline(pipeline).spec.group or pipeline
    except UsageError:
        return pipeline


def docs_app() -> FastAPI:
    """The application that Airflow's API server mounts."""
    from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
    from fastapi import Depends, FastAPI, HTTPException, Request
    from fastapi.responses import FileResponse

    app = FastAPI(title="Tidemill", docs_url=None, redoc_url=None, openapi_url=None)

    def may_read(pipeline: str, request: Request, user: GetUserDep) -> None:
        requires_access_dag("GET", param_dag_id=dag_of(pipeline))(request, user)

    # FastAPI looks for types of annotations that are texts among a module's own names.
    may_read.__annotations__.update(pipeline=str, request=Request, user=GetUserDep)

    @app.get("/docs/{pipeline}/{path:path}", dependencies=[Depends(may_read)])
    def page(pipeline: str, path: str) -> FileResponse:
        try:
            found = find_page(Layout(root(), pipeline).docs, path)
        except UsageError:
            found = None
        if found is None:
            raise HTTPException(404, "There is no such page.")
        return FileResponse(found, headers=HEADERS)

    return app


class _LazyApp:
    """Builds the application at its first request: scheduler and tasks load plugins too."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            self._app = docs_app()
        await self._app(scope, receive, send)


lazy_app = _LazyApp()
