"""From a spec to its DAG: doctor >> ingest >> gate >> publish.

Where Spark's own sink takes the rows there is no gate: doctor >> ingest. No asset event tells of
such rows, since nobody knows which of them are out before the run is over.

Parsing reads specs and nothing else: no data, no Spark, no Great Expectations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.sdk import (
    DAG,
    AssetOrTimeSchedule,
    CronDataIntervalTimetable,
    TaskGroup,
    TriggerRule,
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
from tidemill.group import IngestedOperator, Member, refuse_disagreement
from tidemill.notify import StateNotice
from tidemill.operators import DoctorOperator, PublishOperator, announce_emitted
from tidemill.spark_step import GateOperator, GroupIngestOperator, IngestOperator
from tidemill.wake import arrivals

if TYPE_CHECKING:
    from airflow.sdk import Asset, BaseOperator
    from airflow.sdk.bases.timetable import BaseTimetable

# `max_active_runs` does not count backfills; this does, and holds for every run type.
ALONE = {"max_active_tis_per_dag": 1}
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
    paths: list[Path] = []
    groups: dict[str, list[Member]] = {}
    try:
        paths.extend(path for _, path in spec_files(environ))
    except TidemillError as error:
        yield BrokenSpec.of(error.path, error)
    # A task process needs its own DAG only; that of a group is named in its members' specs.
    own = [path for path in paths if path.stem == wanted]
    for path in own or paths:
        try:
            member = Member(path.stem, load_spec(path, environ), path)
            if member.spec.group is not None:
                groups.setdefault(member.spec.group, []).append(member)
            elif wanted in (None, member.name):
                yield build_dag(member.name, member.spec, path)
        except TidemillError as error:
            yield BrokenSpec.of(path, error)
    for name, members in groups.items():
        try:
            yield build_group(name, members, taken=[path.stem for path in paths])
        except TidemillError as error:
            yield BrokenSpec.of(members[0].path, error)


def build_dag(name: str, spec: Spec, path: Path) -> DAG:
    """The DAG of one pipeline.

    Args:
        name: The pipeline's, which becomes the DAG's.
        spec: What to run.
        path: The spec's file, for messages and the DAG's page.

    Raises:
        SpecError: the schedule or the notifier is none.
    """
    notice = StateNotice.of(spec, path) if spec.notify else None
    page = dag_page(name, spec, path, os.environ.get("TIDEMILL_ROOT", "$TIDEMILL_ROOT"))
    with _dag(name, _first_sentence(spec.description), spec, path, page) as dag:
        ingest = IngestOperator(
            task_id="ingest",
            pipeline=name,
            conn_id=spec.spark.conn_id,
            **ALONE,
            **_callbacks(spec, notice),
        )
        chain(*_tasks(name, spec, notice, [ingest]))
    return dag


def build_group(name: str, members: Sequence[Member], taken: Sequence[str] = ()) -> DAG:
    """The DAG of a group of pipelines.

    Args:
        name: The group's, which becomes the DAG's.
        members: Its pipelines.
        taken: The names of all pipelines, of which it may not be one.

    Raises:
        SpecError: the members do not go together, or the name is a pipeline's.
    """
    refuse_disagreement(members, taken)
    first = members[0].spec
    named = ", ".join(member.name for member in members)
    where = os.environ.get("TIDEMILL_ROOT", "$TIDEMILL_ROOT")
    pages = (f"## {m.name}\n\n{dag_page(m.name, m.spec, m.path, where)}" for m in members)
    page = "\n\n".join(pages)
    with _dag(name, f"{named} in one Spark application", first, members[0].path, page) as dag:
        ingest = GroupIngestOperator(
            task_id="ingest",
            group=name,
            members=[member.name for member in members],
            conn_id=first.spark.conn_id,
            # A doctor that refuses or finds nothing is its own pipeline's.
            trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS,
            **ALONE,
        )
        for member in members:
            notice = StateNotice.of(member.spec, member.path) if member.spec.notify else None
            with TaskGroup(member.name):
                ingested = IngestedOperator(
                    task_id="ingested",
                    pipeline=member.name,
                    trigger_rule=TriggerRule.ALL_DONE,
                    **_callbacks(member.spec, notice),
                )
                chain(*_tasks(member.name, member.spec, notice, [ingest, ingested]))
    return dag


def _dag(name: str, description: str, spec: Spec, path: Path, page: str) -> DAG:
    """A DAG without its tasks, with the settings of a spec."""
    airflow = spec.airflow
    return DAG(
        dag_id=name,
        description=description or None,
        schedule=_schedule(name, spec, path),
        start_date=datetime.combine(airflow.start_date, time(), ZoneInfo(spec.timezone)),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=RUN_TYPES,  # type: ignore[arg-type] # it converts their values
        tags=["tidemill", *airflow.tags],
        doc_md=page,
        default_args={
            "owner": airflow.owner,
            "pool": airflow.pool,
            "retries": airflow.retries,
            "retry_delay": airflow.retry_delay,
            "execution_timeout": airflow.timeout,
            # Whoever has begun is finished first: one pipeline published beats two half done.
            "weight_rule": WeightRule.UPSTREAM,
        },
    )


def _callbacks(spec: Spec, notice: StateNotice | None) -> dict[str, Any]:
    """Who is told what becomes of a task; of an ingest also that the pipeline is well by it."""
    if notice is None:
        return {}
    told: dict[str, Any] = {
        "on_failure_callback": [notice.failed],
        "on_skipped_callback": [notice.ended],
    }
    return told if spec.published else {**told, "on_success_callback": [notice.ended]}


def _tasks(
    name: str, spec: Spec, notice: StateNotice | None, ingest: Sequence[BaseOperator]
) -> list[BaseOperator]:
    """The tasks of a pipeline's run, in order."""
    told = _callbacks(spec, notice)
    told.pop("on_success_callback", None)
    well = [notice.ended] if notice else []
    doctor = DoctorOperator(task_id="doctor", pipeline=name, **told)
    if not spec.published:
        return [doctor, *ingest]
    alone: dict[str, Any] = {"pipeline": name, **ALONE, **told}
    return [
        doctor,
        *ingest,
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
