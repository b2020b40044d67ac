"""The tasks of a pipeline's run: doctor >> ingest >> gate >> publish, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.sdk import WeightRule

from tidemill.contract.report import Step
from tidemill.spec.airflow_settings import TaskSettings
from tidemill.spec.spec import Spec
from tidemill_airflow.dags.assets import assets_of
from tidemill_airflow.events import table_alias
from tidemill_airflow.operators.steps import (
    DoctorOperator,
    GateOperator,
    PublishOperator,
    announce_emitted,
)

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from tidemill_airflow.dags.notify import StateNotice


def tasks(
    name: str,
    spec: Spec,
    notice: StateNotice | None,
    ingest: Sequence[BaseOperator],
    doctor: type[DoctorOperator] = DoctorOperator,
) -> list[BaseOperator]:
    """The tasks of a pipeline's run, in order.

    Args:
        notice: Tells a person of changes of its state.
        ingest: What stands between doctor and gate.
        doctor: The doctor's task.

    Raises:
        SpecError: Airflow does not take an asset that the spec names.
    """
    told = callbacks(spec, notice)
    told.pop("on_success_callback", None)
    well = [notice.ended] if notice else []
    first = doctor(task_id="doctor", pipeline=name, **step_args(spec, "doctor"), **told)
    ingest[-1].inlets.extend(map(table_alias, spec.tables_read.values()))
    ingest[-1].inlets.extend(assets_of(spec.assets.inlets))
    outlets = assets_of(spec.assets.outlets)
    if not spec.published:
        ingest[-1].outlets.extend(outlets)
        return [first, *ingest]
    on_spark: dict[str, Any] = {"pipeline": name, "conn_id": spec.spark.conn_id, **told}
    return [
        first,
        *ingest,
        GateOperator(task_id="gate", **step_args(spec, "gate"), **on_spark),
        PublishOperator(
            task_id="publish",
            outlets=[table_alias(name), *outlets],
            on_success_callback=[announce_emitted, *well],
            **step_args(spec, "publish"),
            **on_spark,
        ),
    ]


def callbacks(spec: Spec, notice: StateNotice | None) -> dict[str, Any]:
    """Who is told what becomes of a task; of an ingest also that the pipeline is well by it."""
    if notice is None:
        return {}
    told: dict[str, Any] = {
        "on_failure_callback": [notice.failed],
        "on_skipped_callback": [notice.ended],
    }
    return told if spec.published else {**told, "on_success_callback": [notice.ended]}


def step_args(spec: Spec, step: Step) -> dict[str, Any]:
    """Airflow's arguments of a step's task: one at a time, and where the spec wants it to run."""
    # `max_active_runs` does not count backfills; this does, and holds for every run type.
    return {"max_active_tis_per_dag": 1, **_given(spec.airflow.of_step(step))}


def default_args(spec: Spec) -> dict[str, Any]:
    """The default arguments of a spec's tasks."""
    airflow = spec.airflow
    return {
        "owner": airflow.owner,
        "retries": airflow.retries,
        "retry_delay": airflow.retry_delay,
        "execution_timeout": airflow.timeout,
        **_given(airflow.of_step(None)),
        # Whoever has begun is finished first: one pipeline published beats two half done.
        "weight_rule": WeightRule.UPSTREAM,
    }


def beginning(spec: Spec) -> datetime:
    """The start date of a spec's DAGs."""
    return datetime.combine(spec.airflow.start_date, time(), ZoneInfo(spec.timezone))


def _given(settings: TaskSettings) -> dict[str, Any]:
    """What is said of a task; Airflow's own default holds for the rest."""
    return {name: value for name, value in settings if value not in (None, {})}
