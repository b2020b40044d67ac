"""From a spec to its DAG: doctor >> ingest >> gate >> publish.

Where Spark's own sink takes the rows there is no gate: doctor >> ingest. No asset event tells of
such rows: which of them are out is known only when the run is over.

Parsing reads specs and nothing else: no data, no Spark, no Great Expectations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import (
    DAG,
    AssetOrTimeSchedule,
    CronDataIntervalTimetable,
    TaskGroup,
    TriggerRule,
    chain,
    get_parsing_context,
)
from airflow.sdk.exceptions import AirflowTimetableInvalid

from tidemill.contract.errors import SpecError, TidemillError, UsageError
from tidemill.spec.catalog import SpecFile, shown_spec_files
from tidemill.spec.root import ROOT, given_root
from tidemill.spec.spec import Spec
from tidemill_airflow.dags.arrivals import woken_by
from tidemill_airflow.dags.broken_spec import BrokenSpec
from tidemill_airflow.dags.dag_page import dag_page
from tidemill_airflow.dags.deadline import deadlines
from tidemill_airflow.dags.forms import backfill_form, with_form
from tidemill_airflow.dags.notify import StateNotice
from tidemill_airflow.dags.resolve import build_resolve_dag, refuse_reserved
from tidemill_airflow.dags.tasks import beginning, callbacks, default_args, step_args, tasks
from tidemill_airflow.operators.group import IngestedOperator, Member, refuse_disagreement
from tidemill_airflow.operators.ingest import GroupIngestOperator, IngestOperator
from tidemill_airflow.operators.steps import GroupDoctorOperator
from tidemill_airflow.settings import export_settings
from tidemill_airflow.task_names import pipeline_of, resolve_id

if TYPE_CHECKING:
    from airflow.sdk import AssetAny, DeadlineAlert  # type: ignore[attr-defined] # the stub lacks it

__all__ = ["dags"]

# Where Spark's own sink takes the rows nothing can be swapped, so there is no backfill.
RUN_TYPES = (
    "scheduled",
    "manual",
    "operator_triggered",
    "asset_triggered",
    "asset_materialization",
)
BACKFILL = "backfill"
UNKNOWN_ROOT = f"${ROOT}"


def dags(environ: Mapping[str, str] = os.environ) -> Iterator[DAG]:
    """A DAG for every spec that Airflow shows; a `BrokenSpec` for one that cannot be loaded."""
    export_settings()
    root = UNKNOWN_ROOT
    # Projects that disagree about it are an error of each step.
    with suppress(UsageError):
        root = given_root(environ) or root
    wanted = get_parsing_context().dag_id
    found: list[SpecFile] = []
    groups: dict[str, list[Member]] = {}
    try:
        found.extend(shown_spec_files(environ))
    except TidemillError as error:
        yield BrokenSpec.of(error.path, error)
    # A task process needs its own DAG only; that of a group is named in its members' specs.
    own = [one for one in found if wanted and one.name == pipeline_of(wanted, "")]
    for one in own or found:
        name, path = one.name, one.path
        try:
            spec = one.load(environ)
            if spec.group is not None:
                groups.setdefault(spec.group, []).append(Member(name, spec, path))
            elif wanted in (None, name):
                yield build_dag(name, spec, path, root)
            if spec.published and wanted in (None, resolve_id(name)):
                yield build_resolve_dag(name, spec, path)
        except TidemillError as error:
            yield BrokenSpec.of(path, error, name)
    for name, members in groups.items():
        try:
            if wanted in (None, name):
                yield build_group(name, members, [one.name for one in found], root)
        except TidemillError as error:
            yield BrokenSpec.of(members[0].path, error)


def build_dag(name: str, spec: Spec, path: Path, root: str = UNKNOWN_ROOT) -> DAG:
    """The DAG of one pipeline.

    Args:
        name: The pipeline's, which becomes the DAG's.
        path: The spec's file, for messages and the DAG's page.
        root: The folder of all pipelines' data, for the DAG's page.

    Raises:
        SpecError: the schedule, the notifier or an asset is not valid, or the name is a resolve
            DAG's.
    """
    refuse_reserved(name, path)
    notice = StateNotice.of(spec, path) if spec.notify else None
    page = dag_page(name, spec, path, root)
    about = _first_sentence(spec.description)
    alerts = deadlines({name: spec})
    form = backfill_form(spec.timezone) if spec.published else {}
    with with_form(_dag(name, about, spec, path, page, alerts, backfills=bool(form)), form) as dag:
        ingest = IngestOperator(
            task_id="ingest",
            pipeline=name,
            conn_id=spec.spark.conn_id,
            **step_args(spec, "ingest"),
            **callbacks(spec, notice),
        )
        chain(*tasks(name, spec, notice, [ingest]))
    return dag


def build_group(
    name: str, members: Sequence[Member], taken: Sequence[str] = (), root: str = UNKNOWN_ROOT
) -> DAG:
    """The DAG of a group of pipelines.

    Args:
        name: The group's, which becomes the DAG's.
        members: Its pipelines.
        taken: The names of all pipelines, of which it may not be one.
        root: As for `build_dag`.

    Raises:
        SpecError: the members do not go together, an asset is not valid, or the name is a
            pipeline's.
    """
    refuse_disagreement(members, taken)
    first = members[0].spec
    names = [member.name for member in members]
    named = ", ".join(names)
    pages = (f"## {m.name}\n\n{dag_page(m.name, m.spec, m.path, root)}" for m in members)
    page = "\n\n".join(pages)
    about = f"{named} in one Spark application"
    # A backfill of a group is one of each of its members.
    backfills = all(member.spec.published for member in members)
    alerts = deadlines({member.name: member.spec for member in members})
    form = backfill_form(first.timezone) if backfills else {}
    made = _dag(name, about, first, members[0].path, page, alerts, backfills=backfills)
    with with_form(made, form) as dag:
        doctors = GroupDoctorOperator(
            task_id="doctor", group=name, members=names, **step_args(first, "doctor")
        )
        ingest = GroupIngestOperator(
            task_id="ingest",
            group=name,
            members=names,
            conn_id=first.spark.conn_id,
            # A doctor that refuses or finds nothing is its own pipeline's.
            trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS,
            **step_args(first, "ingest"),
        )
        for member in members:
            notice = StateNotice.of(member.spec, member.path) if member.spec.notify else None
            with TaskGroup(member.name):
                ingested = IngestedOperator(
                    task_id="ingested",
                    pipeline=member.name,
                    trigger_rule=TriggerRule.ALL_DONE,
                    **callbacks(member.spec, notice),
                )
                own = tasks(member.name, member.spec, notice, [ingest, ingested])
                # It looks at its pipeline itself where that of all was killed.
                own[0].trigger_rule = TriggerRule.ALL_DONE
                chain(doctors, *own)
    return dag


def _dag(
    name: str,
    description: str,
    spec: Spec,
    path: Path,
    page: str,
    alerts: list[DeadlineAlert],
    *,
    backfills: bool,
) -> DAG:
    """A DAG without its tasks and its form, with the settings of a spec."""
    return DAG(
        dag_id=name,
        description=description or None,
        schedule=_schedule(name, spec, path),
        start_date=beginning(spec),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=(*RUN_TYPES, BACKFILL) if backfills else RUN_TYPES,  # type: ignore[arg-type] # it converts their values
        tags=["tidemill", *spec.airflow.tags],
        deadline=alerts or None,
        doc_md=page,
        default_args=default_args(spec),
    )


def _schedule(
    name: str, spec: Spec, path: Path
) -> AssetOrTimeSchedule | CronDataIntervalTimetable | AssetAny | None:
    """The schedule: a clock, arrivals, or both; None for manual runs only."""
    timetable = _timetable(spec, path)
    if spec.wake is None:
        return timetable
    assets = woken_by(name, spec, spec.wake)
    return AssetOrTimeSchedule(timetable=timetable, assets=assets) if timetable else assets


def _timetable(spec: Spec, path: Path) -> CronDataIntervalTimetable | None:
    """Intervals with a start and an end; Airflow's default for cron has neither width nor end."""
    if spec.schedule is None:
        return None
    try:
        return _intervals(spec.schedule, spec.timezone)
    except AirflowTimetableInvalid as error:
        raise SpecError(
            f"{path}: schedule '{spec.schedule}' is not a cron expression ({error}).",
            remedy="Use five fields such as '30 2 * * *', or @hourly, @daily, @weekly, @monthly.",
            path=path,
            line=None,
            field="schedule",
        ) from error


@lru_cache(maxsize=1024)
def _intervals(schedule: str, timezone: str) -> CronDataIntervalTimetable:
    """The intervals of a schedule, one object for all DAGs that have it."""
    timetable = CronDataIntervalTimetable(schedule, timezone=timezone)
    timetable.validate()
    return timetable


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
