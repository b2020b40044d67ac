"""The page of an increment: why it is held, and the decisions about it."""

from __future__ import annotations

from typing import Annotated, cast, get_args

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.layout import Layout
from tidemill.reporting.choices import Action
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.pipeline_files import NO_SUITE
from tidemill.spec.root import root
from tidemill_airflow.addresses import page_path
from tidemill_airflow.airflow_internals.api_server import (
    GetUserDep,
    SessionDep,
    require_start,
    start_run,
)
from tidemill_airflow.dags.resolve import APPROVE, resolution
from tidemill_airflow.pages.access import MayRead, may_start
from tidemill_airflow.pages.chart import chart
from tidemill_airflow.pages.rendering import render
from tidemill_airflow.pages.runs import find_dag_run, gate_of, task_path
from tidemill_airflow.task_names import resolve_id

# Up to so many input files can be ticked; the names of more are typed.
FEW_FILES = 25
router = APIRouter(prefix="/pipelines/{pipeline}/increments/{number}")


@router.get("", dependencies=[MayRead])
def increment(
    pipeline: str,
    number: int,
    request: Request,
    user: GetUserDep,
    session: SessionDep,
    asked: Annotated[str | None, Query()] = None,
) -> HTMLResponse:
    """What is known of an increment.

    Args:
        asked: The run that was started to carry out a decision.
    """
    found = _incident(pipeline, number)
    judged_in = find_dag_run(pipeline, found.judged_in, session) if found.judged_in else None
    return render(
        "increment.html",
        incident=found,
        chart=chart,
        gate_path=None if judged_in is None else task_path(pipeline, judged_in, "gate"),
        gate_run=found.judged_in,
        suite=_suite(pipeline),
        asked=asked,
        resolve_dag=resolve_id(pipeline),
        approve=APPROVE,
        may_decide=may_start(resolve_id(pipeline), request, user),
        few_files=FEW_FILES,
    )


def _may_decide(pipeline: str, request: Request, user: GetUserDep) -> None:
    require_start(resolve_id(pipeline), request, user)


@router.post("/decisions", dependencies=[MayRead, Depends(_may_decide)])
def decide(
    pipeline: str,
    number: int,
    request: Request,
    user: GetUserDep,
    session: SessionDep,
    action: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
    exclude: Annotated[list[str] | None, Form()] = None,
) -> RedirectResponse:
    """Start the DAG that carries out a decision; it asks a person to approve it first.

    Args:
        exclude: Input files to leave out, as ticked, or one a line.

    Raises:
        HTTPException: the form is not filled in, comes from elsewhere, or Airflow refuses the run.
    """
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise HTTPException(403, "A decision is made on its own page.")
    if action not in get_args(Action) or not reason.strip():
        raise HTTPException(400, "A decision needs an action and a reason. Go back and give both.")
    wanted = cast("Action", action)
    dag_id, conf = resolution(
        pipeline,
        wanted,
        increment=None if wanted == "redo" else number,
        reason=reason.strip(),
        exclude=[
            line.strip() for given in exclude or () for line in given.splitlines() if line.strip()
        ],
    )
    run_id = start_run(dag_id, conf, request, user, session)
    place = page_path("pipelines", pipeline, "increments", str(number), asked=run_id)
    return RedirectResponse(place, 303)


def _incident(pipeline: str, number: int) -> Incident:
    try:
        return read_incident(Layout(root(), pipeline), number, gate_of(pipeline))
    except UsageError as error:
        raise HTTPException(404, error.what) from error
    except TidemillError as error:
        # A damaged document; whoever looks here has to know of it.
        raise HTTPException(500, f"{error.what} {error.remedy}") from error


def _suite(pipeline: str) -> str | None:
    try:
        found = open_pipeline(pipeline).suite_file
        return None if found == NO_SUITE else found.name
    except UsageError:
        return None
