"""The operators that need Spark: the Spark provider's submit operator, pinned down."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)
from airflow.sdk.log import mask_secret

from tidemill.contract import report as reports
from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.reprocessed_run import current_run_folder, current_run_id
from tidemill.ledger.run_request import read_request
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.storage.lease import end_outlived
from tidemill.toolchain.loopback import loopback_variables
from tidemill.toolchain.spark_conf import FAIR, JARS, driver_java_options, session_conf
from tidemill_airflow.operators.command import (
    APPLICATION,
    launched_by_this_task,
    spark_binary,
    spark_variables,
    step_arguments,
)
from tidemill_airflow.operators.connections import connection_variables
from tidemill_airflow.operators.group import (
    applications,
    conclude_group,
    members_with_work,
)
from tidemill_airflow.operators.outcome import ReportWatch, as_airflow, conclude
from tidemill_airflow.operators.processes import end_session
from tidemill_airflow.operators.request import DECIDED
from tidemill_airflow.operators.step_environment import step_environment

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidemill_airflow.operators.lineage import Lineage

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Otherwise a line per batch drowns in Spark's own; a spec may ask for more.
QUIET = {"spark.log.level": "WARN"}


class SparkStepHook(SparkSubmitHook):
    """spark-submit in its own session, so that a kill reaches JVM and Python workers alike.

    Args:
        environ: The environment of spark-submit; the provider would give it all of Airflow's.
        secrets: Variables for the environment of the driver, and for no command line.
        **kwargs: The provider's own.

    Raises:
        AirflowFailException: the driver would not run under this task, and there are secrets.
    """

    exit_code: int | None = None

    def __init__(
        self, *, environ: Mapping[str, str], secrets: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        own = {**environ, **(self._env_vars or {}), **secrets}
        self._environ = {**own, **loopback_variables(self._connection["master"] or "", own)}
        if self._driver_is_elsewhere and secrets:
            raise AirflowFailException(
                f"Connection '{self._conn_id}' has deploy-mode cluster: the driver would run on "
                f"another machine, which {', '.join(secrets)} could only reach on a command line. "
                "Remove deploy-mode from its extra; the driver then runs under this task."
            )

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        kwargs.update(env=self._environ, start_new_session=True, encoding="utf-8", errors="replace")
        try:
            return super().submit(application, **kwargs)
        except BaseException:
            # A timeout interrupts the reading; a driver left running would hold the checkpoint.
            self._end()
            raise
        finally:
            self.exit_code = self._submit_sp.returncode if self._submit_sp else None

    def on_kill(self) -> None:
        self._end()
        super().on_kill()

    @property
    def _driver_is_elsewhere(self) -> bool:
        return bool(self._connection["deploy_mode"] == "cluster")

    def _build_spark_submit_command(self, application: str) -> list[str]:
        command = list(super()._build_spark_submit_command(application))
        # What the provider puts here it adds to the whole of the task's environment.
        self._env = None
        return command

    def _end(self) -> None:
        if self._submit_sp is not None and self._submit_sp.poll() is None:
            end_session(self._submit_sp.pid)

    def _get_spark_binary_path(self) -> list[str]:
        found = [spark_binary(name) for name in super()._get_spark_binary_path()]
        if shutil.which(found[0]) is None:
            msg = f"there is no {found[0]} on the PATH or beside {sys.executable}; install pyspark"
            raise AirflowException(msg)
        return found


class SparkStepOperator(SparkSubmitOperator):
    """Runs one step as an application of spark-submit, wherever the connection says.

    Args:
        conn_id: The Spark connection that its spec names.
    """

    # The provider templates configuration, jars and environment: code execution for whoever may
    # trigger a run.
    template_fields: Sequence[str] = ()
    step: ClassVar[Step]

    def __init__(self, *, pipeline: str, conn_id: str, **kwargs: Any) -> None:
        super().__init__(
            application=str(APPLICATION),
            conn_id=conn_id,
            name=f"tidemill {self.step} {pipeline}",
            # A durable submit does nothing after a clear, because its first job succeeded.
            durable=False,
            **kwargs,
        )
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        keep_from_others()
        try:
            pipeline = open_pipeline(self.pipeline)
            report, exit_code = self.run_step(pipeline, context)
        except TidemillError as error:
            raise as_airflow(error) from error
        return self.settle(pipeline, context, report, exit_code)

    def run_step(self, pipeline: Pipeline, context: Context) -> tuple[Report | None, int | None]:
        """Run the step to its end; the report of this try, and the exit code."""
        return self.submit(pipeline, context)

    def settle(
        self,
        pipeline: Pipeline,
        context: Context,
        report: Report | None,
        exit_code: int | None,
    ) -> dict[str, Any]:
        """End the task as the report says; its result."""
        return conclude(self.step, report, exit_code)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage:
        """What the step read and wrote, for Airflow's OpenLineage provider, which calls this."""
        # The provider is an extra, and it alone asks.
        from tidemill_airflow.operators.lineage import lineage_of

        return lineage_of(map(open_pipeline, self.covers), self.step, task_instance.run_id)

    @property
    def covers(self) -> Sequence[str]:
        """The names of the pipelines whose step it runs."""
        return (self.pipeline,)

    def submit(self, pipeline: Pipeline, context: Context) -> tuple[Report | None, int | None]:
        """Run it through spark-submit."""
        run_id = current_run_id(pipeline.layout, context["run_id"])
        watch = ReportWatch(pipeline.layout.run(run_id), self.step)
        exit_code = self.submit_all([pipeline], context)
        return watch.report(), exit_code

    def submit_all(self, pipelines: Sequence[Pipeline], context: Context) -> int:
        """Run the step of several pipelines as one application; its exit code."""
        # Only live runs share one, and none of them has an id of its own in the books.
        run_id = current_run_id(pipelines[0].layout, context["run_id"])
        self._require_connection()
        secrets: dict[str, str] = {}
        variables = launched_by_this_task(os.environ)
        for pipeline in pipelines:
            secrets |= connection_variables(pipeline.spec)
            variables |= spark_variables(pipeline, os.environ)
            # Before the JVM, so that there is never a second driver beside one left behind.
            if end_outlived(pipeline.layout.lease) is not None:
                self.log.info(
                    "Ended a Spark driver of %s that an earlier task had left running.",
                    pipeline.name,
                )
            for variable in pipeline.spec.env:
                mask_secret(os.environ.get(variable, ""), variable)
        self.conf = dict(spark_conf(pipelines, run_id))
        names = [pipeline.name for pipeline in pipelines]
        self._hook = SparkStepHook(
            environ=step_environment([pipeline.spec for pipeline in pipelines], os.environ),
            secrets=secrets,
            conf=self.conf,
            conn_id=self._conn_id,
            name=self.name,
            application_args=list(step_arguments(self.step, names, run_id)),
            env_vars=variables,
        )
        try:
            super().execute(context)
        except AirflowException as error:
            if self._hook.exit_code is None:
                raise AirflowFailException(f"spark-submit was not started: {error}") from error
            # The report, if there is one, says more than an exit code.
            self.log.info("%s", error)
        return cast("int", self._hook.exit_code)

    def on_kill(self) -> None:
        if self._hook is not None:
            super().on_kill()

    def _require_connection(self) -> None:
        try:
            BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException as error:
            # The provider would go on with `--master yarn`, without a word.
            raise AirflowFailException(
                f"There is no connection '{self._conn_id}', which spark.conn_id names. Add it: "
                f"airflow connections add {self._conn_id} --conn-type spark "
                "--conn-host 'local[*]'"
            ) from error


class IngestOperator(SparkStepOperator):
    """Takes in what is available now, or computes again what the run was asked for."""

    step: ClassVar[Step] = "ingest"

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


class GroupIngestOperator(SparkStepOperator):
    """Takes in what is available to each pipeline of a group, in one application.

    What is computed again is so one pipeline after the other, each in an application of its own.

    Args:
        group: Its name.
        members: The names of its pipelines.
    """

    step: ClassVar[Step] = "ingest"

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


def spark_conf(pipelines: Sequence[Pipeline], run_id: str) -> Mapping[str, str]:
    """The configuration of a driver: the specs' own, under the engine's, which none may change."""
    conf = dict(QUIET)
    jars: dict[str, None] = {}
    for pipeline in pipelines:
        own = session_conf(pipeline.spec)
        jars |= dict.fromkeys(filter(None, own.get(JARS, "").split(",")))
        conf |= own
    if jars:
        conf[JARS] = ",".join(jars)
    if len(pipelines) > 1:
        conf |= FAIR
    backlog = reports.backlog_bytes(pipeline.layout.run(run_id) for pipeline in pipelines)
    options = f"{driver_java_options(backlog)} {conf.get(JAVA_OPTIONS, '')}"
    return {**conf, JAVA_OPTIONS: options.strip()} if options.strip() else conf
