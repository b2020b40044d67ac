"""Runs of Airflow, as pages link to them."""

from __future__ import annotations

from tidemill.contract.errors import UsageError
from tidemill.ledger.reprocessed_run import airflow_run_id
from tidemill.spec.catalog import spec_files
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.spec import Gate
from tidemill_airflow.addresses import airflow_path
from tidemill_airflow.airflow_internals.api_server import SessionDep
from tidemill_airflow.airflow_internals.dag_models import dag_of_run
from tidemill_airflow.pages.access import dag_of
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
    dag_id = dag_of_run(run_id, dag_ids, session)
    return None if dag_id is None else (dag_id, run_id)


def task_path(pipeline: str, run: tuple[str, str], step: str) -> str:
    """The path of Airflow's page of a step's task, which has its log."""
    dag_id, run_id = run
    of_group = dag_id not in (pipeline, resolve_id(pipeline))
    task_id = f"{pipeline}.{step}" if of_group else step
    return airflow_path("dags", dag_id, "runs", run_id, "tasks", task_id)
