"""The operators of doctor, gate and publish: a child process first, Spark only if needed.

Where the step ran in another task's process, its report is taken over and nothing is started.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowException

from tidemill.contract import handover
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.reprocessed_run import current_run_folder, current_run_id
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill_airflow.events import announce, emit
from tidemill_airflow.operators.child_step import ChildStep, StepCommand
from tidemill_airflow.operators.command import step_command
from tidemill_airflow.operators.connections import connection_variables
from tidemill_airflow.operators.docs_link import DataDocsLink
from tidemill_airflow.operators.increment_link import IncrementLink
from tidemill_airflow.operators.outcome import as_airflow, conclude
from tidemill_airflow.operators.request import in_words, refuse_same_dry_run, request_of
from tidemill_airflow.operators.spark_step import SparkStepOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class ChildOperator(BaseOperator):
    """Runs a step in a child process, which never needs Spark."""

    # A run's conf and params can reach no command line and no variable.
    template_fields: Sequence[str] = ()
    step: ClassVar[Step]
    command: StepCommand = staticmethod(step_command)
    _child: ChildStep | None = None

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:
        keep_from_others()
        try:
            pipeline = open_pipeline(self.pipeline)
            report, exit_code = take_over(self, pipeline, context), None
            if report is None:
                self.fix(pipeline, context)
                self._child = child_step(self, pipeline, context)
                report, exit_code = self._child.run()
        except TidemillError as error:
            raise as_airflow(error) from error
        return conclude(self.step, report, exit_code)

    def fix(self, pipeline: Pipeline, context: Context) -> None:
        """Fix what the run does; only the doctor does it."""

    def on_kill(self) -> None:
        if self._child is not None:
            self._child.kill()


class DoctorOperator(ChildOperator):
    """Fixes a run's request, skips it without work, and fails it if it would lose rows."""

    step: ClassVar[Step] = "doctor"

    def wanted(self, pipeline: Pipeline, context: Context) -> RunRequest:
        """The request that Airflow makes of this run now.

        Raises:
            RequestRefused: it cannot be.
        """
        return request_of(pipeline.spec, context)

    def fix(self, pipeline: Pipeline, context: Context) -> None:
        """Fix what the run does, unless it is fixed already; the steps go by that alone."""
        wanted = self.wanted(pipeline, context)
        if not os.access(pipeline.layout.root, os.W_OK | os.X_OK):
            # The step refuses it, and a document of ours would make the folder that is missing.
            return
        # Imported here, because it costs what a DAG file must not.
        from tidemill.increments.fixed_run import fix_run, has_run_dry

        layout = pipeline.layout
        if has_run_dry(layout, current_run_id(layout, context["run_id"])):
            refuse_same_dry_run(wanted, context)
        run_id, fixed = fix_run(layout, context["run_id"], wanted)
        by = f", asked for by {fixed.by}" if fixed.by else ""
        real = "" if fixed.dry_run else " What passes the gate is published."
        self.log.info("This run is a %s%s.%s", in_words(fixed, pipeline.spec.timezone), by, real)
        if run_id != context["run_id"]:
            self.log.info(
                "Airflow does run %s once more. What it published before stays in the books; "
                "what it computes now is run %s there.",
                context["run_id"],
                run_id,
            )


class GroupDoctorOperator(DoctorOperator):
    """Performs the doctors of a group's live runs in one process, for their own tasks to take over.

    It never fails for a member: the member's own doctor then runs, and ends as it ends.

    Args:
        group: Its name.
        members: The names of its pipelines.
    """

    def __init__(self, *, group: str, members: Sequence[str], **kwargs: Any) -> None:
        super().__init__(pipeline=group, **kwargs)
        self.members = tuple(members)

    def execute(self, context: Context) -> dict[str, Any]:
        keep_from_others()
        run_id = context["run_id"]
        pipelines: list[Pipeline] = []
        secrets: dict[str, str] = {}
        for name in self.members:
            try:
                pipeline = open_pipeline(name)
                self.fix(pipeline, context)
                if read_request(current_run_folder(pipeline.layout, run_id)).role == "live":
                    secrets |= connection_variables(pipeline.spec)
                    pipelines.append(pipeline)
            except (TidemillError, AirflowException, OSError) as error:
                self.log.info("%s is left to its own doctor: %s", name, error)
        if not pipelines:
            return {}
        try:
            self._child = ChildStep(
                self.step,
                pipelines,
                run_id,
                secrets=secrets,
                command=self.command,
                log=self.log.info,
            )
            self._child.run()
        except (TidemillError, OSError) as error:
            self.log.info("Each pipeline is left to its own doctor: %s", error)
        return {}


class DecideOperator(ChildOperator):
    """Carries out a person's decision about a held increment; other runs have nothing to decide."""

    step: ClassVar[Step] = "decide"


class ChildFirstOperator(SparkStepOperator):
    """Runs a step in a child process, and through spark-submit where its report asks for Spark."""

    # No constructor: Airflow wraps that of each class, and a DAG file may have thousands of tasks.
    command: StepCommand = staticmethod(step_command)
    _child: ChildStep | None = None

    def run_step(self, pipeline: Pipeline, context: Context) -> tuple[Report | None, int | None]:
        offered = take_over(self, pipeline, context)
        if offered is not None:
            return offered, None
        self._child = child_step(self, pipeline, context)
        report, exit_code = self._child.run()
        if report is not None and report.outcome is Outcome.NEEDS_SPARK:
            self.log.info("Spark is started for the step %s: %s", self.step, report.reason)
            return self.submit(pipeline, context)
        return report, exit_code

    def on_kill(self) -> None:
        if self._child is not None:
            self._child.kill()
        super().on_kill()


class GateOperator(ChildFirstOperator):
    """Judges the increment; by Spark where it is too large for a process of its own."""

    step: ClassVar[Step] = "gate"
    operator_extra_links: Sequence[BaseOperatorLink] = (DataDocsLink(), IncrementLink())


class PublishOperator(ChildFirstOperator):
    """Makes what passed visible, and tells consumers of each increment that went out.

    A backfill that lost its race is computed again, by Spark.
    """

    step: ClassVar[Step] = "publish"
    emitted: tuple[int, ...] = ()

    def settle(
        self,
        pipeline: Pipeline,
        context: Context,
        report: Report | None,
        exit_code: int | None,
    ) -> dict[str, Any]:
        if report is not None and report.outcome in (Outcome.DONE, Outcome.WAITING):
            self.emitted = emit(pipeline, context)
            if self.emitted:
                # Also where this run's own increment waits and others went out: Airflow drops the
                # events of a skipped task.
                return {"outcome": str(report.outcome), "reason": report.reason}
        return super().settle(pipeline, context, report, exit_code)


def take_over(
    operator: ChildOperator | ChildFirstOperator, pipeline: Pipeline, context: Context
) -> Report | None:
    """The report of an operator's step where the step ran in another task's process."""
    folder = current_run_folder(pipeline.layout, context["run_id"])
    report = handover.take_over(folder, operator.step)
    if report is not None:
        where = "of all doctors of the group" if operator.step == "doctor" else "of the ingest"
        operator.log.info(
            "The step ran in the process %s, whose task has its lines: %s", where, report.reason
        )
    return report


def child_step(
    operator: ChildOperator | ChildFirstOperator, pipeline: Pipeline, context: Context
) -> ChildStep:
    """The step of an operator as a child process of its task."""
    return ChildStep(
        operator.step,
        [pipeline],
        current_run_id(pipeline.layout, context["run_id"]),
        secrets=connection_variables(pipeline.spec),
        command=operator.command,
        log=operator.log.info,
    )


def announce_emitted(context: Context) -> None:
    """Note which events Airflow has: a success callback, which runs once it has stored them.

    After a crash in between they are sent again; noted any earlier, they would be lost.
    """
    task = context["task"]
    if isinstance(task, PublishOperator):
        announce(open_pipeline(task.pipeline), task.emitted)
