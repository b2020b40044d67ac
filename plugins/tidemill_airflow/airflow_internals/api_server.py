"""Airflow's API server: its users and what they may do, its session, and its way to start a run."""

from __future__ import annotations

from typing import Any, Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.dagbag import create_dag_bag
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.datamodels.dag_run import TriggerDAGRunPostBody
from airflow.api_fastapi.core_api.routes.public.dag_run import trigger_dag_run
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, Request

__all__ = ["GetUserDep", "MayReadDag", "SessionDep"]

_MANAGER = "airflow.api_fastapi.auth.managers.base_auth_manager:BaseAuthManager"
_ROUTES = "airflow.api_fastapi.core_api.routes.public.dag_run"
CALLS = {
    "airflow.api_fastapi.app:get_auth_manager": (),
    "airflow.api_fastapi.common.dagbag:create_dag_bag": (),
    "airflow.api_fastapi.core_api.datamodels.dag_run:TriggerDAGRunPostBody": (
        "logical_date=",
        "conf=",
    ),
    "airflow.api_fastapi.core_api.security:requires_access_dag": (
        "method",
        "access_entity",
        "param_dag_id=",
    ),
    f"{_ROUTES}:trigger_dag_run": ("dag_id", "body", "dag_bag", "user", "session", "request"),
    f"{_MANAGER}.filter_authorized_dag_ids": ("dag_ids=", "user=", "method=", "team_name="),
}
ATTRIBUTES = (
    "airflow.api_fastapi.auth.managers.models.resource_details:DagAccessEntity.RUN",
    "airflow.api_fastapi.common.db.common:SessionDep",
    "airflow.api_fastapi.core_api.security:GetUserDep",
)

Method = Literal["GET", "PUT"]
# A dependency of a route whose path has {dag_id}; without the permission it answers 403.
MayReadDag = Depends(requires_access_dag("GET"))


def require_access(method: Method, dag_id: str, request: Request, user: GetUserDep) -> None:
    """Answer 403 to a user who may not read (`GET`) or edit (`PUT`) a DAG."""
    requires_access_dag(method, param_dag_id=dag_id)(request, user)


def require_start(dag_id: str, request: Request, user: GetUserDep) -> None:
    """Answer 403 to a user who may not start runs of a DAG."""
    requires_access_dag("POST", DagAccessEntity.RUN, param_dag_id=dag_id)(request, user)


def authorized(dag_ids: set[str], user: GetUserDep, method: Method, team: str | None) -> set[str]:
    """Those of a team's DAGs that a user may read (`GET`) or edit (`PUT`)."""
    return get_auth_manager().filter_authorized_dag_ids(
        dag_ids=dag_ids, user=user, method=method, team_name=team
    )


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
