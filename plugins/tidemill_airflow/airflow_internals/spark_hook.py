"""The Spark provider's hook, with names for its private parts."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any, cast

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

_HOOK = "airflow.providers.apache.spark.hooks.spark_submit:SparkSubmitHook"
CALLS = {
    _HOOK: ("conf=", "conn_id=", "name=", "application_args=", "env_vars="),
    f"{_HOOK}.submit": ("application",),
    f"{_HOOK}.on_kill": (),
    f"{_HOOK}._build_spark_submit_command": ("application",),
    f"{_HOOK}._get_spark_binary_path": (),
}
ATTRIBUTES = tuple(
    f"{_HOOK}.{name}"
    for name in ("_conf", "_conn_id", "_connection", "_env", "_env_vars", "_submit_sp")
)


class SparkHook(SparkSubmitHook):
    """Runs spark-submit, in an environment to which the provider adds nothing."""

    @property
    def master(self) -> str:
        """The master that the connection names."""
        return self._connection["master"] or ""

    @property
    def deploy_mode(self) -> str | None:
        """Such as `cluster`, as the connection says it."""
        return cast("str | None", self._connection["deploy_mode"])

    @property
    def conn_id(self) -> str:
        """The connection's id."""
        return str(self._conn_id)

    @property
    def conf(self) -> dict[str, Any]:
        """Spark's configuration, which may be changed until `submit`."""
        return self._conf

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the provider writes onto the command line of Kubernetes and YARN."""
        return self._env_vars or {}

    def leave_variables_out(self) -> None:
        """Have no variable written onto the command line."""
        self._env_vars = None

    @property
    def process(self) -> subprocess.Popen[str] | None:
        """The process of spark-submit, once it is started."""
        return self._submit_sp

    def application_path(self, application: str) -> str:
        """The application as spark-submit is to be given it."""
        return application

    def programs(self, names: list[str]) -> list[str]:
        """The command that starts spark-submit.

        Args:
            names: The command that the connection says.
        """
        return names

    def _build_spark_submit_command(self, application: str) -> list[str]:
        command = list(super()._build_spark_submit_command(self.application_path(application)))
        # What the provider puts here it adds to the whole of the task's environment.
        self._env = None
        return command

    def _get_spark_binary_path(self) -> list[str]:
        return self.programs(super()._get_spark_binary_path())
