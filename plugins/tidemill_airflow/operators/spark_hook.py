"""spark-submit as a process of its task: its environment, its secrets, its end."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowException

from tidemill.contract.connections.spark import (
    KUBERNETES,
    KUBERNETES_SECRET,
    references,
    refuse_deploy_mode,
)
from tidemill.contract.connections.spark_masters import verify_masters
from tidemill.toolchain.loopback import loopback_variables
from tidemill.toolchain.spark_conf import JARS
from tidemill_airflow.airflow_internals.spark_hook import SparkHook
from tidemill_airflow.operators.command import spark_binary
from tidemill_airflow.operators.processes import end_session
from tidemill_airflow.settings import engine_environment


class SparkStepHook(SparkHook):
    """spark-submit in its own session, so that a kill reaches JVM and Python workers alike.

    A driver under the task has the environment of spark-submit. One in a pod of Kubernetes (deploy
    mode `cluster`) is told its variables on the command line, and takes the secret ones from a
    Kubernetes secret.

    Args:
        environ: The environment of spark-submit; the provider would give it all of Airflow's.
        secrets: Variables for the environment of the driver, and for no command line.
        **kwargs: The provider's own.

    Raises:
        DeployModeRefused: the driver would run on a worker of a standalone cluster.
        SecretsCannotReachDriver: the driver would not run under this task, and there are secrets.
    """

    exit_code: int | None = None

    def __init__(
        self, *, environ: Mapping[str, str], secrets: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        own = {**environ, **self.variables, **secrets}
        self._environ = {**own, **loopback_variables(self.master, own)}
        refuse_deploy_mode(self.master, self.deploy_mode, self.conn_id)
        if not self._driver_is_elsewhere:
            self.leave_variables_out()
            return
        extra = self.get_connection(self.conn_id).extra_dejson
        secret = extra.get(KUBERNETES_SECRET)
        self.conf.update(references(self.master, secret, secrets, self.conn_id))
        if self.conf.get(JARS):
            self.conf[JARS] = ",".join(map(self.application_path, self.conf[JARS].split(",")))

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Run it to its end.

        Raises:
            MastersUnreachable: no master of a standalone cluster answers.
        """
        verify_masters(self.master, self.conn_id)
        kwargs.update(env=self._environ, start_new_session=True, encoding="utf-8", errors="replace")
        try:
            return super().submit(application, **kwargs)
        except BaseException:
            # A timeout interrupts the reading; a driver left running would hold the checkpoint.
            self.on_kill()
            raise
        finally:
            self.exit_code = self.process.returncode if self.process else None

    def on_kill(self) -> None:
        if self._driver_is_elsewhere:
            # As long as spark-submit lives, the provider ends the driver too.
            super().on_kill()
            self._end()
        else:
            self._end()
            super().on_kill()

    @property
    def _driver_is_elsewhere(self) -> bool:
        return self.deploy_mode == "cluster"

    def application_path(self, application: str) -> str:
        """A file of this machine as Spark names it in a driver's image, which has it too."""
        in_a_pod = self._driver_is_elsewhere and self.master.startswith(KUBERNETES)
        return f"local://{application}" if in_a_pod and application.startswith("/") else application

    def _end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            end_session(self.process.pid)

    def programs(self, names: list[str]) -> list[str]:
        found = [spark_binary(name) for name in names]
        if shutil.which(found[0]) is None:
            python = engine_environment().python
            msg = f"there is no {found[0]} on the PATH or beside {python}; install pyspark"
            raise AirflowException(msg)
        return found
