"""The Spark provider's operator, with names for its private parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidemill_airflow.airflow_internals.spark_hook import SparkHook

_OPERATOR = "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator"
CALLS = {
    _OPERATOR: ("task_id=", "application=", "conn_id=", "name=", "durable="),
    f"{_OPERATOR}.execute": ("context",),
    f"{_OPERATOR}.on_kill": (),
}
ATTRIBUTES = tuple(
    f"{_OPERATOR}.{name}" for name in ("_conn_id", "_hook", "application", "conf", "name")
)


class SparkOperator(SparkSubmitOperator):
    """Runs spark-submit through a hook that it is given."""

    @property
    def spark_conn_id(self) -> str:
        """The Spark connection's id."""
        return str(self._conn_id)

    def submit_through(self, hook: SparkHook, context: Context) -> None:
        """Run the application to its end."""
        self._hook = hook
        super().execute(context)

    def on_kill(self) -> None:
        # Without a hook the provider would make one, though nothing was started.
        if self._hook is not None:
            super().on_kill()
