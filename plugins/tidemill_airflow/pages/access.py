"""Whether a user may see or change a pipeline: what Airflow says of the pipeline's DAG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from fastapi import Depends, HTTPException, Request

from tidemill.contract.errors import UsageError
from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.airflow_internals.api_server import (
    GetUserDep,
    Method,
    authorized,
    require_access,
    require_start,
)
from tidemill_airflow.airflow_internals.dag_models import teams_of


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
    teams = teams_of(ids)
    for dag_id in ids:
        by_team[teams.get(dag_id)].add(dag_id)
    return {
        dag_id
        for team, of_team in by_team.items()
        for dag_id in authorized(of_team, user, method, team)
    }


def _requires(method: Method) -> Callable[..., None]:
    def check(pipeline: str, request: Request, user: GetUserDep) -> None:
        require_access(method, dag_of(pipeline), request, user)

    return check


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
