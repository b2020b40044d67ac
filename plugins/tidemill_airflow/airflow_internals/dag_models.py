"""Queries of the metadata database, which only Airflow's own components may ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from sqlalchemy import and_, not_, select
from sqlalchemy.orm import Session

CALLS = {
    "airflow.models.dag:DagModel.get_dag_id_to_team_name_mapping": ("dag_ids",),
    "airflow.utils.session:create_session": (),
}
ATTRIBUTES = (
    *(f"airflow.models.dag:DagModel.{name}" for name in ("dag_id", "is_paused", "tags")),
    "airflow.models.dag:DagTag.name",
    *(f"airflow.models.dagrun:DagRun.{name}" for name in ("dag_id", "run_id", "state")),
)


def teams_of(dag_ids: Collection[str]) -> Mapping[str, str | None]:
    """DAG -> its team, for those of some DAGs that have one."""
    return DagModel.get_dag_id_to_team_name_mapping([*dag_ids])


def dag_of_run(run_id: str, dag_ids: Collection[str], session: Session) -> str | None:
    """The one of some DAGs that has a run of this id."""
    found = select(DagRun.dag_id).where(DagRun.run_id == run_id, DagRun.dag_id.in_(dag_ids))
    return session.scalar(found.limit(1))


def queued_while_paused(dag_id: str, session: Session) -> frozenset[str]:
    """The ids of a paused DAG's queued runs; none where the DAG is not paused."""
    query = (
        select(DagRun.run_id)
        .join(DagModel, DagModel.dag_id == DagRun.dag_id)
        .where(DagRun.dag_id == dag_id, DagModel.is_paused, DagRun.state == DagRunState.QUEUED)
    )
    return frozenset(session.scalars(query))


def other_dags(ending: str, tag: str) -> list[str] | None:
    """All DAGs but those with an ending and a tag; None where no DAG has both."""
    left_out = and_(
        DagModel.dag_id.endswith(ending, autoescape=True), DagModel.tags.any(DagTag.name == tag)
    )
    with create_session() as session:
        if session.scalar(select(DagModel.dag_id).where(left_out).limit(1)) is None:
            return None
        return [*session.scalars(select(DagModel.dag_id).where(not_(left_out)))]
