"""The operators of ingest: of one pipeline, and of the pipelines of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowSkipException

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.reprocessed_run import current_run_folder, current_run_id
from tidemill.ledger.run_request import read_request
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.toolchain.spark_conf import is_small
from tidemill_airflow.operators.group import applications, conclude_group, members_with_work
from tidemill_airflow.operators.outcome import ReportWatch, as_airflow, conclude
from tidemill_airflow.operators.request import DECIDED
from tidemill_airflow.operators.spark_step import SparkStepOperator, backlog_of

if TYPE_CHECKING:
    from airflow.sdk import Context


class SubmittedIngest(SparkStepOperator):
    """An ingest through spark-submit, whose process also gates and publishes a small increment."""

    step: ClassVar[Step] = "ingest"

    def following(self, pipelines: Sequence[Pipeline], run_id: str) -> tuple[str, ...]:
        roles = {read_request(pipeline.layout.run(run_id)).role for pipeline in pipelines}
        if roles != {"live"} or not is_small(backlog_of(pipelines, run_id)):
            return ()
        if not all(_runs_in_one_place(pipeline.spec) for pipeline in pipelines):
            return ()
        # A driver in a pod would have to hold what gate and publish need.
        connection = BaseHook.get_connection(self.spark_conn_id)
        is_elsewhere = connection.extra_dejson.get("deploy-mode") == "cluster"
        return () if is_elsewhere else ("--through=publish",)


class IngestOperator(SubmittedIngest):
    """Takes in what is available now, or computes again what the run was asked for."""

    def run_step(self, pipeline: Pipeline, context: Context) -> tuple[Report | None, int | None]:
        run_id = current_run_id(pipeline.layout, context["run_id"])
        role = read_request(pipeline.layout.run(run_id)).role
        if role not in DECIDED:
            return self.submit(pipeline, context)
        now = wall_clock()
        # A driver would take seconds to say so.
        report = Report(
            pipeline=pipeline.name,
            run_id=run_id,
            step=self.step,
            outcome=Outcome.DONE,
            reason=f"a {role} computes nothing",
            started=now,
            finished=now,
        )
        return report, None


class GroupIngestOperator(SubmittedIngest):
    """Takes in what is available to each pipeline of a group, in one application.

    What is computed again is so one pipeline after the other, each in an application of its own.

    Args:
        group: Its name.
        members: The names of its pipelines.
    """

    def __init__(self, *, group: str, members: Sequence[str], **kwargs: Any) -> None:
        super().__init__(pipeline=group, **kwargs)
        self.members = tuple(members)

    @property
    def covers(self) -> Sequence[str]:
        return self.members

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        keep_from_others()
        run_id = context["run_id"]
        try:
            pipelines = members_with_work(self.members, run_id)
            if not pipelines:
                raise AirflowSkipException("nothing new for any pipeline of the group")
            folders = [current_run_folder(pipeline.layout, run_id) for pipeline in pipelines]
            watches = [ReportWatch(folder, self.step) for folder in folders]
            codes = [self.submit_all(those, context) for those in applications(pipelines, run_id)]
        except TidemillError as error:
            raise as_airflow(error) from error
        found = [watch.report() for watch in watches]
        if None in found:
            # A crash cannot be attributed to one pipeline; finished ones do nothing the next time.
            return conclude(self.step, None, max(codes))
        return conclude_group([report for report in found if report is not None])


def _runs_in_one_place(spec: Spec) -> bool:
    """Whether Airflow is to run ingest, gate and publish in the same way."""
    own = spec.airflow.of_step("ingest")
    return spec.published and all(spec.airflow.of_step(step) == own for step in ("gate", "publish"))
