"""A group: several small pipelines that share a schedule and one spark-submit.

Each keeps its own doctor, gate and publish, in a task group of its name. One process performs the
doctors of all, whose tasks take its reports over. One ingest runs the queries of all that have
something to do; `ingested` then says for each how its own ended, so that one that fails holds no
one else up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from tidemill.contract import report as reports
from tidemill.contract.errors import SpecError, TidemillError
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.reprocessed_run import current_run_folder
from tidemill.ledger.run_request import read_request
from tidemill.spec.groups import differing
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.spec import Spec
from tidemill_airflow.operators.outcome import as_airflow, conclude
from tidemill_airflow.task_names import RESOLVE

if TYPE_CHECKING:
    from airflow.sdk import Context


# The tasks of all pipelines of a group; those of one are in a task group of its name.
SHARED_TASKS = ("doctor", "ingest")


@dataclass(frozen=True)
class Member:
    """A pipeline of a group."""

    name: str
    spec: Spec
    path: Path


def refuse_disagreement(members: Sequence[Member], taken: Collection[str] = ()) -> None:
    """Hold the members of a group against each other.

    Args:
        members: All of one group.
        taken: The names of all pipelines.

    Raises:
        SpecError: they differ in what a group has one of, one is woken or has the name of a task,
            or the group has the name of a pipeline.
    """
    first = members[0]
    if first.spec.group in taken:
        raise _error(first, "group", "is the name of a pipeline, and both would be DAGs")
    if str(first.spec.group).endswith(RESOLVE):
        raise _error(first, "group", f"ends in {RESOLVE}, as the DAGs do in which people decide")
    for member in members:
        if member.name in SHARED_TASKS:
            raise _error(member, "group", f"has a task '{member.name}', as the pipeline is called")
        if member.spec.wake is not None:
            raise _error(member, "wake", "is woken, which a group is not: it goes by the clock")
        field = differing(member.spec, first.spec)
        if field is not None:
            what = f"differs from that of {first.name}, which is in the same group"
            raise _error(member, field, what)


def members_with_work(members: Sequence[str], run_id: str) -> list[Pipeline]:
    """The pipelines whose doctor found something to do."""
    pipelines = [open_pipeline(name) for name in members]
    return [one for one in pipelines if _idle(one, run_id) is None]


def applications(pipelines: Sequence[Pipeline], run_id: str) -> list[list[Pipeline]]:
    """Who shares a Spark application: live ingests do, and nothing that is computed again."""
    alone = [
        one
        for one in pipelines
        if read_request(current_run_folder(one.layout, run_id)).role != "live"
    ]
    together = [one for one in pipelines if one not in alone]
    return [those for those in (together, *([one] for one in alone)) if those]


class IngestedOperator(BaseOperator):
    """Ends as the ingest of one member of a group ended."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:
        run_id = context["run_id"]
        try:
            pipeline = open_pipeline(self.pipeline)
        except TidemillError as error:
            raise as_airflow(error) from error
        idle = _idle(pipeline, run_id)
        if idle is not None:
            raise AirflowSkipException(idle)
        return conclude(
            "ingest", reports.read(current_run_folder(pipeline.layout, run_id), "ingest"), None
        )


def _idle(pipeline: Pipeline, run_id: str) -> str | None:
    """The reason why a member does not ingest; None if it does.

    A doctor's report that a power cut tore does not keep it from what it may have to do.
    """
    folder = current_run_folder(pipeline.layout, run_id)
    doctor = reports.read(folder, "doctor")
    if doctor is not None:
        return None if doctor.outcome is Outcome.DONE else doctor.reason
    torn = reports.path_of(folder, "doctor").exists()
    return None if torn else "its doctor left no report"


def conclude_group(found: Sequence[Report]) -> dict[str, Any]:
    """End the ingest of a group: tried again where that may help one of its members.

    Args:
        found: The reports of those that were to ingest.

    Raises:
        AirflowException: one of them may succeed when tried again; those that are done rest then.
    """
    again = [report for report in found if report.transient]
    if again:
        said = "; ".join(f"{report.pipeline}: {report.reason}" for report in again)
        raise AirflowException(said)
    return {report.pipeline: str(report.outcome) for report in found}


def _error(member: Member, field: str, what: str) -> SpecError:
    return SpecError(
        f"{member.path}: {field} {what}.",
        remedy=f"Make it equal in the specs of group '{member.spec.group}', or leave the group.",
        path=member.path,
        line=None,
        field=field,
    )
