"""The list of pipelines: the first page."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from tidemill.contract.project import spec_files
from tidemill_airflow.pages.access import GetUserDep, dag_of, permitted
from tidemill_airflow.pages.rendering import render

router = APIRouter()


@router.get("/pipelines")
def pipelines(user: GetUserDep) -> HTMLResponse:
    """Every pipeline whose DAG the user may read."""
    dag_ids = {path.stem: dag_of(path.stem) for _, path in spec_files()}
    shown = permitted(set(dag_ids.values()), user)
    names = [name for name, dag_id in dag_ids.items() if dag_id in shown]
    return render("pipelines.html", names=names, dag_ids=dag_ids)
