"""Runs of Airflow, as pages link to them and start them."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.common.dagbag import create_dag_bag
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.datamodels.dag_run import TriggerDAGRunPostBody
from airflow.api_fastapi.core_api.routes.public.dag_run import trigger_dag_run
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.state import DagRunState
from fastapi import Request
from sqlalchemy import select

from tidemill.contract.errors import UsageError
from tidemill.ledger.reprocessed_run import airflow_run_id
from tidemill.spec.catalog import spec_files
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.spec import Gate
from tidemill_airflow.addresses import airflow_path
from tidemill_airflow.pages.access import GetUserDep, dag_of
from tidemill_airflow.task_names import RESOLVE, resolve_id


def pipelines_of(dag_id: str) -> list[str]:
    """The pipelines that a DAG runs: one, the members of a group, or none of ours."""
    name = dag_id.removesuffix(RESOLVE)
    names = [one.name for one in spec_files()]
    return [name] if name in names else [one for one in names if dag_of(one) == dag_id]


def gate_of(pipeline: str) -> Gate:
    """The gate's settings; without a spec that says what may be shown, no value is."""
    try:
        return open_pipeline(pipeline).spec.gate
    except UsageError:
        return Gate(samples=0)


def find_dag_run(pipeline: str, run_id: str, session: SessionDep) -> tuple[str, str] | None:
    """The DAG and Airflow's id of a pipeline's run; None where it is not one of this Airflow's."""
    run_id = airflow_run_id(run_id)
    dag_ids = (dag_of(pipeline), resolve_id(pipeline))
    wanted = select(DagRun.dag_id).where(DagRun.run_id == run_id, DagRun.dag_id.in_(dag_ids))
    dag_id = session.scalar(wanted.limit(1))
    return None if dag_id is None else (dag_id, run_id)


def queued_while_paused(dag_id: str, session: SessionDep) -> frozenset[str]:
    """The ids of a paused DAG's queued runs, none of which starts before it is unpaused."""
    query = (
        select(DagRun.run_id)
        .join(DagModel, DagModel.dag_id == DagRun.dag_id)
        .where(DagRun.dag_id == dag_id, DagModel.is_paused, DagRun.state == DagRunState.QUEUED)
    )
    return frozenset(session.scalars(query))


def task_path(pipeline: str, run: tuple[str, str], step: str) -> str:
    """The path of Airflow's page of a step's task, which has its log."""
    dag_id, run_id = run
    of_group = dag_id not in (pipeline, resolve_id(pipeline))
    task_id = f"{pipeline}.{step}" if of_group else step
    return airflow_path("dags", dag_id, "runs", run_id, "tasks", task_id)


def start_run(
    dag_id: str, conf: dict[str, Any], request: Request, user: GetUserDep, session: SessionDep
) -> str:
    """Start a run as Airflow's own API does, in the user's name; its id.

    Raises:
        HTTPException: there is no such DAG, or its parameters refuse what was given.
    """
    body = TriggerDAGRunPostBody(logical_date=None, conf=conf)
    # Its annotation is of what the API makes of it.
    run: Any = trigger_dag_run(dag_id, body, create_dag_bag(), user, session, request)
    return str(run.run_id)
