"""The tasks of a pipeline's run: doctor >> ingest >> gate >> publish, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.sdk import WeightRule

from tidemill.spec.spec import Spec
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

# `max_active_runs` does not count backfills; this does, and holds for every run type.
ALONE = {"max_active_tis_per_dag": 1}


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
    """
    told = callbacks(spec, notice)
    told.pop("on_success_callback", None)
    well = [notice.ended] if notice else []
    alone: dict[str, Any] = {"pipeline": name, **ALONE, **told}
    first = doctor(task_id="doctor", **alone)
    if not spec.published:
        return [first, *ingest]
    alone["conn_id"] = spec.spark.conn_id
    return [
        first,
        *ingest,
        GateOperator(task_id="gate", **alone),
        PublishOperator(
            task_id="publish",
            outlets=[table_alias(name)],
            on_success_callback=[announce_emitted, *well],
            **alone,
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


def default_args(spec: Spec) -> dict[str, Any]:
    """The default arguments of a spec's tasks."""
    airflow = spec.airflow
    return {
        "owner": airflow.owner,
        "pool": airflow.pool,
        "retries": airflow.retries,
        "retry_delay": airflow.retry_delay,
        "execution_timeout": airflow.timeout,
        # Whoever has begun is finished first: one pipeline published beats two half done.
        "weight_rule": WeightRule.UPSTREAM,
    }


def beginning(spec: Spec) -> datetime:
    """The start date of a spec's DAGs."""
    return datetime.combine(spec.airflow.start_date, time(), ZoneInfo(spec.timezone))
