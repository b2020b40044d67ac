"""The operator of a step that needs Spark: the Spark provider's own, pinned down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
)
from airflow.sdk.log import mask_secret

from tidemill.contract import report as reports
from tidemill.contract.connections.spark import secret_settings
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.report import Report, Step
from tidemill.ledger.reprocessed_run import current_run_id
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.storage.lease import end_outlived
from tidemill.toolchain.class_archive import submit_options
from tidemill.toolchain.spark_conf import (
    FAIR,
    JARS,
    JAVA_OPTIONS,
    driver_java_options,
    session_conf,
)
from tidemill_airflow.airflow_internals.spark_operator import SparkOperator
from tidemill_airflow.operators.command import (
    launched_by_this_task,
    spark_variables,
    step_arguments,
)
from tidemill_airflow.operators.connections import connection_variables
from tidemill_airflow.operators.outcome import ReportWatch, as_airflow, conclude
from tidemill_airflow.operators.spark_hook import SparkStepHook
from tidemill_airflow.operators.step_environment import step_environment
from tidemill_airflow.settings import engine_environment, variables_for_steps

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidemill_airflow.operators.lineage import Lineage

# Otherwise a line per batch drowns in Spark's own; a spec may ask for more.
QUIET = {"spark.log.level": "WARN"}


class SparkStepOperator(SparkOperator):
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
            # Known at the task's start: the interpreter of the steps may be another one.
            application="",
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
        settings, secrets = self._open_connection()
        environ = variables_for_steps()
        variables = launched_by_this_task(environ) | spark_variables(environ)
        self.application = engine_environment().application
        for pipeline in pipelines:
            secrets |= connection_variables(pipeline.spec)
            # A token of the spec's own is as secret as a connection.
            named = pipeline.spec.env
            secrets |= {name: os.environ[name] for name in named if name in os.environ}
            # Before the JVM, so that there is never a second driver beside one left behind.
            if end_outlived(pipeline.layout.lease) is not None:
                self.log.info(
                    "Ended a Spark driver of %s that an earlier task had left running.",
                    pipeline.name,
                )
            for variable in pipeline.spec.env:
                mask_secret(os.environ.get(variable, ""), variable)
        self.conf = {**spark_conf(pipelines, run_id, environ), **settings}
        names = [pipeline.name for pipeline in pipelines]
        own = step_environment([pipeline.spec for pipeline in pipelines], environ)
        archive = submit_options(
            own,
            variables["JAVA_HOME"],
            engine_environment().python,
            driver_options=self.conf.get(JAVA_OPTIONS, ""),
        )
        hook = SparkStepHook(
            environ={**own, **archive},
            secrets=secrets,
            conf=self.conf,
            conn_id=self.spark_conn_id,
            name=self.name,
            application_args=[
                *step_arguments(self.step, names, run_id),
                *self.following(pipelines, run_id),
            ],
            env_vars=variables,
        )
        try:
            self.submit_through(hook, context)
        except AirflowException as error:
            if hook.exit_code is None:
                raise AirflowFailException(f"spark-submit was not started: {error}") from error
            # The report, if there is one, says more than an exit code.
            self.log.info("%s", error)
        return cast("int", hook.exit_code)

    def following(self, pipelines: Sequence[Pipeline], run_id: str) -> tuple[str, ...]:
        """The arguments by which the process performs steps after its own."""
        return ()

    def _open_connection(self) -> tuple[dict[str, str], dict[str, str]]:
        """The settings with which a cluster lets the driver in, and the variables with secrets."""
        conn_id = self.spark_conn_id
        try:
            connection = BaseHook.get_connection(conn_id)
        except AirflowNotFoundException as error:
            # The provider would go on with `--master yarn`, without a word.
            raise AirflowFailException(
                f"There is no connection '{conn_id}', which spark.conn_id names. Add it: "
                f"airflow connections add {conn_id} --conn-type spark "
                "--conn-host 'local[*]'"
            ) from error
        settings, secrets = secret_settings(connection.extra_dejson)
        mask_secret(list(secrets.values()))
        return settings, secrets


def spark_conf(
    pipelines: Sequence[Pipeline], run_id: str, environ: Mapping[str, str] = os.environ
) -> Mapping[str, str]:
    """The configuration of a driver: the specs' own, under the engine's, which none may change."""
    conf = dict(QUIET)
    jars: dict[str, None] = {}
    for pipeline in pipelines:
        own = session_conf(pipeline.spec, environ, pipeline.layout.root)
        jars |= dict.fromkeys(filter(None, own.get(JARS, "").split(",")))
        conf |= own
    if jars:
        conf[JARS] = ",".join(jars)
    if len(pipelines) > 1:
        conf |= FAIR
    backlog = backlog_of(pipelines, run_id)
    options = driver_java_options(backlog, conf.get(JAVA_OPTIONS, ""), environ)
    return {**conf, JAVA_OPTIONS: options} if options else conf


def backlog_of(pipelines: Sequence[Pipeline], run_id: str) -> int | None:
    """The bytes that wait to be read by all of them; None if unknown."""
    return reports.backlog_bytes(pipeline.layout.run(run_id) for pipeline in pipelines)
