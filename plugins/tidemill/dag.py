"""From a spec to its DAG: doctor >> ingest >> gate >> publish.

Where Spark's own sink takes the rows there is no gate: doctor >> ingest. No asset event tells of
such rows, since nobody knows which of them are out before the run is over.

Parsing reads specs and nothing else: no data, no Spark, no Great Expectations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.sdk import (
    DAG,
    AssetOrTimeSchedule,
    CronDataIntervalTimetable,
    WeightRule,
    chain,
    get_parsing_context,
)
from airflow.sdk.exceptions import AirflowTimetableInvalid

from spark_jobs.contract.errors import SpecError, TidemillError
from spark_jobs.contract.load import load_spec
from spark_jobs.contract.project import spec_files
from spark_jobs.contract.spec import Spec
from tidemill.broken_spec import BrokenSpec
from tidemill.dag_page import dag_page
from tidemill.events import table_alias
from tidemill.notify import StateNotice
from tidemill.operators import DoctorOperator, PublishOperator, announce_emitted
from tidemill.spark_step import GateOperator, IngestOperator
from tidemill.wake import arrivals

if TYPE_CHECKING:
    from airflow.sdk import Asset, BaseOperator
    from airflow.sdk.bases.timetable import BaseTimetable

# Backfill is not among them until it recomputes an interval: Airflow's own would run the live
# checkpoint once per day asked for, beside `max_active_runs`.
RUN_TYPES = (
    "scheduled",
    "manual",
    "operator_triggered",
    "asset_triggered",
    "asset_materialization",
)


def dags(environ: Mapping[str, str] = os.environ) -> Iterator[DAG]:
    """A DAG for every spec on the search path, and a `BrokenSpec` for every one that is none."""
    wanted = get_parsing_context().dag_id
    try:
        for _, path in spec_files(environ):
            # A task process needs its own DAG only.
            if wanted in (None, path.stem):
                yield _dag_or_broken(path, environ)
    except TidemillError as error:
        yield BrokenSpec.of(error.path, error)


def _dag_or_broken(path: Path, environ: Mapping[str, str]) -> DAG:
    try:
        return build_dag(path.stem, load_spec(path, environ), path)
    except TidemillError as error:
        return BrokenSpec.of(path, error)


def build_dag(name: str, spec: Spec, path: Path) -> DAG:
    """The DAG of one pipeline.

    Args:
        name: The pipeline's, which becomes the DAG's.
        spec: What to run.
        path: The spec's file, for messages and the DAG's page.

    Raises:
        SpecError: the schedule or the notifier is none.
    """
    airflow = spec.airflow
    notice = StateNotice.of(spec, path) if spec.notify else None
    with DAG(
        dag_id=name,
        description=_first_sentence(spec.description) or None,
        schedule=_schedule(name, spec, path),
        start_date=datetime.combine(airflow.start_date, time(), ZoneInfo(spec.timezone)),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=RUN_TYPES,  # type: ignore[arg-type] # it converts their values
        tags=["tidemill", *airflow.tags],
        doc_md=dag_page(name, spec, path, os.environ.get("TIDEMILL_ROOT", "$TIDEMILL_ROOT")),
        default_args={
            "owner": airflow.owner,
            "pool": airflow.pool,
            "retries": airflow.retries,
            "retry_delay": airflow.retry_delay,
            "execution_timeout": airflow.timeout,
            # Whoever has begun is finished first: one pipeline published beats two half done.
            "weight_rule": WeightRule.UPSTREAM,
            "on_failure_callback": [notice.failed] if notice else [],
            "on_skipped_callback": [notice.ended] if notice else [],
        },
    ) as dag:
        chain(*_tasks(name, spec, notice))
    return dag


def _tasks(name: str, spec: Spec, notice: StateNotice | None) -> list[BaseOperator]:
    """The tasks of a run, in order."""
    well = [notice.ended] if notice else []
    # `max_active_runs` does not count backfills; this does, and holds for every run type.
    alone: dict[str, Any] = {"pipeline": name, "max_active_tis_per_dag": 1}
    doctor = DoctorOperator(task_id="doctor", pipeline=name)
    ingest = partial(IngestOperator, task_id="ingest", conn_id=spec.spark.conn_id, **alone)
    if not spec.published:
        return [doctor, ingest(on_success_callback=well)]
    return [
        doctor,
        ingest(),
        GateOperator(task_id="gate", conn_id=spec.spark.conn_id, **alone),
        PublishOperator(
            task_id="publish",
            outlets=[table_alias(name)],
            on_success_callback=[announce_emitted, *well],
            **alone,
        ),
    ]


def _schedule(name: str, spec: Spec, path: Path) -> BaseTimetable | list[Asset] | None:
    """When it runs: by the clock, when it is woken, or both; None: when somebody starts it."""
    timetable = _timetable(spec, path)
    if spec.wake is None:
        return timetable
    woken_by = [arrivals(name, spec.wake)]
    return AssetOrTimeSchedule(timetable=timetable, assets=woken_by) if timetable else woken_by


def _timetable(spec: Spec, path: Path) -> CronDataIntervalTimetable | None:
    """Intervals with a start and an end; Airflow's default for cron has neither width nor end."""
    if spec.schedule is None:
        return None
    timetable = CronDataIntervalTimetable(spec.schedule, timezone=spec.timezone)
    try:
        timetable.validate()
    except AirflowTimetableInvalid as error:
        raise SpecError(
            f"{path}: schedule '{spec.schedule}' is no cron expression ({error}).",
            remedy="Use five fields such as '30 2 * * *', or @hourly, @daily, @weekly, @monthly.",
            path=path,
            line=None,
            field="schedule",
        ) from error
    return timetable


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
