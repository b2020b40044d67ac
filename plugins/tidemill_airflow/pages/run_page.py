"""The page of a run: what each step did, and what became of the rows that it took in."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.layout import Layout
from tidemill.ledger.reprocessed_run import current_run_id
from tidemill.reporting.run_summary import RunSummary, read_run
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import root
from tidemill_airflow.airflow_internals.api_server import MayReadDag, SessionDep
from tidemill_airflow.airflow_internals.dag_models import queued_while_paused
from tidemill_airflow.operators.request import in_words
from tidemill_airflow.pages.access import MayRead
from tidemill_airflow.pages.rendering import render
from tidemill_airflow.pages.runs import (
    find_dag_run,
    gate_of,
    pipelines_of,
    task_path,
)

router = APIRouter()
NOT_OURS = "This DAG runs no pipeline of Tidemill."


@router.get("/dags/{dag_id}/runs/{run_id:path}", dependencies=[MayReadDag])
def run_of_dag(dag_id: str, run_id: str, session: SessionDep) -> HTMLResponse:
    """The tab of a DAG's run: every pipeline that the DAG runs."""
    names = pipelines_of(dag_id)
    return _page({name: _current(name, run_id) for name in names}, run_id, session)


@router.get("/pipelines/{pipeline}/runs/{run_id:path}", dependencies=[MayRead])
def run_of_pipeline(pipeline: str, run_id: str, session: SessionDep) -> HTMLResponse:
    """A run of one pipeline, also one of the command line."""
    return _page({pipeline: run_id}, run_id, session)


def _current(name: str, run_id: str) -> str:
    """The id in the books of a run of Airflow's, which a backfill may have reprocessed."""
    try:
        return current_run_id(Layout(root(), name), run_id)
    except UsageError as error:
        raise HTTPException(404, error.what) from error


def _page(ids: Mapping[str, str], run_id: str, session: SessionDep) -> HTMLResponse:
    shown = [(_summary(name, own), find_dag_run(name, own, session)) for name, own in ids.items()]
    return render(
        "run.html",
        waiting=[found for _, found in shown if _is_queued_while_paused(found, session)],
        run_id=run_id,
        shown=shown,
        nothing=NOT_OURS,
        in_words=_in_words,
        task_path=task_path,
    )


def _is_queued_while_paused(found: tuple[str, str] | None, session: SessionDep) -> bool:
    return found is not None and found[1] in queued_while_paused(found[0], session)


def _summary(name: str, run_id: str) -> RunSummary:
    try:
        return read_run(Layout(root(), name), run_id, gate_of(name))
    except UsageError as error:
        raise HTTPException(404, error.what) from error
    except TidemillError as error:
        # A damaged document; whoever looks here has to know of it.
        raise HTTPException(500, f"{error.what} {error.remedy}") from error


def _in_words(summary: RunSummary) -> str:
    """What the run was asked for, as a sentence's beginning."""
    if summary.request.role == "live":
        return "It takes in what is new"
    try:
        timezone = open_pipeline(summary.pipeline).spec.timezone
    except UsageError:
        timezone = "UTC"
    said = in_words(summary.request, timezone)
    return said[0].upper() + said[1:]
