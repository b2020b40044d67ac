"""Whether a user may see or change a pipeline: what Airflow says of the pipeline's DAG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Request

from tidemill.contract.errors import UsageError
from tidemill.spec.pipeline import open_pipeline

__all__ = ["GetUserDep", "MayEdit", "MayRead", "dag_of", "may_start", "permitted", "require_start"]

Method = Literal["GET", "PUT"]


def dag_of(pipeline: str) -> str:
    """The DAG whose readers may see a pipeline's pages: in a group that of the group.

    Args:
        pipeline: Its name, as an address has it; whatever has no spec goes by its own name.
    """
    try:
        return open_pipeline(pipeline).spec.group or pipeline
    except UsageError:
        return pipeline


def permitted(dag_ids: Iterable[str], user: GetUserDep, method: Method = "GET") -> set[str]:
    """Those of some DAGs that a user may read (`GET`) or edit (`PUT`), in one question."""
    by_team: defaultdict[str | None, set[str]] = defaultdict(set)
    ids = list(dag_ids)
    teams = DagModel.get_dag_id_to_team_name_mapping(ids)
    for dag_id in ids:
        by_team[teams.get(dag_id)].add(dag_id)
    manager = get_auth_manager()
    return {
        dag_id
        for team, of_team in by_team.items()
        for dag_id in manager.filter_authorized_dag_ids(
            dag_ids=of_team, user=user, method=method, team_name=team
        )
    }


def _requires(method: Method) -> Callable[..., None]:
    def check(pipeline: str, request: Request, user: GetUserDep) -> None:
        requires_access_dag(method, param_dag_id=dag_of(pipeline))(request, user)

    return check


def require_start(dag_id: str, request: Request, user: GetUserDep) -> None:
    """Answer 403 to a user who may not start runs of a DAG."""
    requires_access_dag("POST", DagAccessEntity.RUN, param_dag_id=dag_id)(request, user)


def may_start(dag_id: str, request: Request, user: GetUserDep) -> bool:
    """Whether a user may start runs of a DAG."""
    try:
        require_start(dag_id, request, user)
    except HTTPException:
        return False
    return True


# Dependencies of a route whose path has {pipeline}; without the permission it answers 403.
MayRead = Depends(_requires("GET"))
MayEdit = Depends(_requires("PUT"))
