"""The spec: what to run, as one frozen model that Airflow and Spark both read.

Fields that Spark has a name for carry Spark's own name (`maxFilesPerTrigger`). Event time,
partition expressions and row rules live here and not in the transform, so that a change of code can
never move a row to another interval.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from spark_jobs.contract.file_source import FileSource
from spark_jobs.contract.model import Column, Model, Name, PlainName, doubled_in
from spark_jobs.contract.quantities import Duration, Size

REJECTED = "_rejected"
SECRET = re.compile(r"passw|secret|token|api_?key|credential", re.IGNORECASE)


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        msg = f"'{name}' is no time zone; use a name such as Europe/London or UTC"
        raise ValueError(msg) from error
    return name


class Trigger(StrEnum):
    """How a run takes what is there: in bounded batches, or all in one."""

    AVAILABLE_NOW = "available_now"
    ONCE = "once"


class Expect(Model):
    """How often the feed arrives; a feed that is overdue fails the run instead of staying green."""

    every: Duration
    grace: Duration = timedelta(0)


class EventTime(Model):
    """The column that says when a row happened; a row without it is a rejected row."""

    column: str
    watermark: Duration | None = None


class Output(Model):
    """What the file sink writes."""

    mode: Literal["append"] = "append"
    format: Literal["parquet"] = "parquet"
    partition_by: dict[Column, Annotated[str, StringConstraints(min_length=1)]] = {}
    maxRecordsPerFile: Annotated[int, Field(ge=0)] = 0

    @property
    def sink_partitions(self) -> tuple[str, ...]:
        """The columns that the sink's directories are named after.

        A rejected row lies in the null partition, into which no good row ever falls; a sink without
        partitions gets one for the purpose. (A further level over the partitions would do, but
        Polars then finds a column in the path that the table does not have.)
        """
        return tuple(self.partition_by) or (REJECTED,)


class Rejected(Model):
    """The share of rejected rows (0 to 1) above which an increment is held."""

    hold_above: Annotated[float, Field(ge=0, le=1)] = 0.05


class Gate(Model):
    """How an increment is judged."""

    suite: Name | None = None
    rejected: Rejected = Rejected()
    in_process_max: Size = 256 * 2**20
    samples: Annotated[int, Field(ge=0, le=1000)] = 20


class DeltaTarget(Model):
    """The published Delta table; its head says what consumers see."""

    kind: Literal["delta"] = "delta"


class Notify(Model):
    """An Airflow notifier and its arguments; `{message}` in a text argument is replaced."""

    notifier: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*\.[A-Za-z_]\w*$")]
    args: dict[str, Any] = {}

    @field_validator("args")
    @classmethod
    def _names_no_secret(cls, args: dict[str, Any]) -> dict[str, Any]:
        secret = next((name for name in args if SECRET.search(name)), None)
        if secret:
            msg = f"'{secret}' would put a secret into a file; name an Airflow connection instead"
            raise ValueError(msg)
        return args


class Spark(Model):
    """Where the job runs, and Spark configuration beyond the engine's own."""

    conn_id: PlainName = "tidemill_spark"
    conf: dict[str, str | bool | int] = {}


class Airflow(Model):
    """What the DAG says about itself to Airflow."""

    owner: PlainName = "tidemill"
    tags: tuple[PlainName, ...] = ()
    start_date: date = date(2024, 1, 1)
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retry_delay: Duration = timedelta(seconds=30)
    timeout: Duration = timedelta(hours=2)
    pool: PlainName = "tidemill"


class Spec(Model):
    """One pipeline. Its name is the stem of the file the spec was read from."""

    description: str = ""
    env: dict[Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")], str | None] = {}
    schedule: Annotated[str, StringConstraints(min_length=1)] | None = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    expect: Expect | None = None
    sources: Annotated[dict[Name, FileSource], Field(min_length=1, max_length=1)]
    trigger: Trigger = Trigger.AVAILABLE_NOW
    event_time: EventTime
    row_rules: dict[Name, Annotated[str, StringConstraints(min_length=1)]] = {}
    transform: Name | None = None
    output: Output = Output()
    gate: Gate = Gate()
    publish: Annotated[tuple[DeltaTarget, ...], Field(min_length=1, max_length=1)] = (
        DeltaTarget(),
    )
    notify: Notify | None = None
    spark: Spark = Spark()
    airflow: Airflow = Airflow()

    @property
    def source(self) -> FileSource:
        return next(iter(self.sources.values()))

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if self.event_time.column not in self.source.columns:
            msg = (
                f"event_time.column '{self.event_time.column}' is not in the source's schema; "
                f"it has {', '.join(self.source.columns)}"
            )
            raise ValueError(msg)
        partitions = tuple(self.output.partition_by)
        clash = doubled_in((*self.source.columns, *partitions))
        if clash:
            msg = f"output.partition_by '{clash}' is a column already; give it another name"
            raise ValueError(msg)
        if self.trigger is Trigger.ONCE and "maxFilesPerTrigger" in self.source.model_fields_set:
            msg = "trigger 'once' ignores maxFilesPerTrigger; remove it or use available_now"
            raise ValueError(msg)
        return self
