"""Settings of a pipeline's DAG and of its tasks, by Airflow's own names."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints, field_validator

from tidemill.contract.report import Step
from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.model import Model, PlainName
from tidemill.spec.secret_setting import is_secret

# An executor of `[core] executors`: its alias, its class, or its module path.
Executor = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*$")]


class TaskSettings(Model):
    """Where and when Airflow runs a task.

    Attributes:
        queue: The queue of Airflow's executor.
        pool: Airflow's pool.
        executor: One of the executors that Airflow is configured with.
        executor_config: The executor's own settings, such as `pod_template_file` of Kubernetes'.
        priority_weight: The tasks with the highest weight get free slots of the pool first.
    """

    queue: PlainName | None = None
    pool: PlainName | None = None
    executor: Executor | None = None
    executor_config: dict[str, JsonValue] = {}
    priority_weight: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None

    @field_validator("executor_config")
    @classmethod
    def _is_plain_text(cls, config: dict[str, JsonValue]) -> dict[str, JsonValue]:
        secret = next((name for name, value in config.items() if is_secret(name, value)), None)
        if secret is not None:
            msg = f"'{secret}' would put a secret into a file that many people read"
            raise ValueError(msg)
        if "pod_override" in config:
            msg = "pod_override takes a Python object; name a manifest with pod_template_file"
            raise ValueError(msg)
        return config


class Airflow(TaskSettings):
    """Airflow settings of the DAG.

    Attributes:
        owner: The DAG's owner.
        tags: The DAG's tags.
        start_date: The first day that a schedule counts from.
        retries: How often a task that failed is tried again.
        retry_delay: The time between two attempts.
        timeout: The time after which a task is ended.
        steps: Settings of single steps, each of which goes before that of the whole pipeline.
    """

    owner: PlainName = "tidemill"
    tags: tuple[PlainName, ...] = ()
    start_date: date = date(2024, 1, 1)
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retry_delay: Duration = timedelta(seconds=30)
    timeout: Duration = timedelta(hours=2)
    pool: PlainName = "tidemill"
    steps: dict[Step, TaskSettings] = {}

    def of_step(self, step: Step | None) -> TaskSettings:
        """The settings of one step; with None those of the tasks beside the steps."""
        given = {name: getattr(self, name) for name in TaskSettings.model_fields}
        own = self.steps.get(step) if step is not None else None
        if own is not None:
            given |= {name: getattr(own, name) for name in own.model_fields_set}
        # All of it was checked when the spec was read.
        return TaskSettings.model_construct(**given)
