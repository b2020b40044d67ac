"""The spec: what to run, as one frozen model that Airflow and Spark both read.

Fields that Spark has a name for carry Spark's own name (`maxFilesPerTrigger`). Event time,
partition expressions and row rules live here and not in the transform, so that a change of code can
never move a row to another interval.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from spark_jobs.contract.event_time import EventTime
from spark_jobs.contract.file_source import FileFormat, FileSource
from spark_jobs.contract.kafka_source import KafkaSource
from spark_jobs.contract.model import Column, Disagreement, Model, Name, PlainName, doubled_in
from spark_jobs.contract.python_source import PythonSource
from spark_jobs.contract.quantities import Duration, Size
from spark_jobs.contract.sink import Sink
from spark_jobs.contract.source import BaseSource, OptionValue
from spark_jobs.contract.targets import DeltaTarget, Target
from spark_jobs.contract.trial_source import RateMicroBatchSource, RateSource, SocketSource
from spark_jobs.contract.wake import Wake

Source = Annotated[
    FileSource | KafkaSource | PythonSource | RateSource | RateMicroBatchSource | SocketSource,
    Field(discriminator="kind"),
]
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


class Budget(Model):
    """What one run may take; it stops between two batches and says what is left."""

    max_batches: Annotated[int, Field(gt=0)] | None = None
    max_bytes: Annotated[Size, Field(gt=0)] | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None


class OutputMode(StrEnum):
    """What a batch hands to the sink: new rows, changed rows, or the whole result."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Output(Model):
    """What the query writes.

    Attributes:
        options: Of Spark's writer, by Spark's names.
        keys: The columns that tell rows apart, for `update` and for targets that upsert.
        max_rows: The most rows that a batch in mode `complete` may have.
    """

    mode: OutputMode = OutputMode.APPEND
    format: FileFormat = "parquet"
    options: dict[str, OptionValue] = {}
    partition_by: dict[Column, Annotated[str, StringConstraints(min_length=1)]] = {}
    maxRecordsPerFile: Annotated[int, Field(ge=0)] = 0
    keys: tuple[Column, ...] = ()
    max_rows: Annotated[int, Field(gt=0)] = 1_000_000

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
    wake: Wake | None = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    expect: Expect | None = None
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    trigger: Trigger = Trigger.AVAILABLE_NOW
    budget: Budget | None = None
    event_time: EventTime | None = None
    row_rules: dict[Name, Annotated[str, StringConstraints(min_length=1)]] = {}
    transform: Name | None = None
    output: Output = Output()
    gate: Gate = Gate()
    publish: Annotated[tuple[Target, ...], Field(min_length=1)] = (DeltaTarget(),)
    sink: Sink | None = None
    notify: Notify | None = None
    spark: Spark = Spark()
    airflow: Airflow = Airflow()

    @property
    def published(self) -> bool:
        """Whether a gate stands between the query and its readers; not with a sink of Spark's."""
        return self.sink is None

    def event_time_of(self, source: str) -> EventTime | None:
        """The event time of one source's rows."""
        return self.sources[source].event_time or self.event_time

    def row_rules_of(self, source: str) -> dict[str, str]:
        """The rules that one source's rows must keep."""
        return {**self.row_rules, **self.sources[source].row_rules}

    @property
    def connections(self) -> tuple[str, ...]:
        """The Airflow connections of sources, targets and sink, each once."""
        users = (*self.sources.values(), *self.publish, *([self.sink] if self.sink else []))
        return tuple(dict.fromkeys(u.conn_id for u in users if hasattr(u, "conn_id")))

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        for name, source in self.sources.items():
            self._columns_agree(name, source)
            self._trigger_agrees(name, source)
            if self.published and not source.replayable:
                msg = (
                    f"source '{name}' ({source.kind}) cannot be replayed, so that nothing it gives "
                    "may be published; give the pipeline a sink, such as {kind: console}"
                )
                raise Disagreement(msg, "sources", name)
        if self.published:
            self._publish_agrees()
        else:
            self._sink_agrees()
        if self.wake is not None:
            self.wake.agree(self)
        return self

    def _columns_agree(self, name: str, source: BaseSource) -> None:
        time = self.event_time_of(name)
        if time is not None and time.column not in source.columns:
            msg = (
                f"event_time.column '{time.column}' is not in the schema of source '{name}'; "
                f"it has {', '.join(source.columns)}"
            )
            raise Disagreement(msg, *self._place_of_event_time(name))
        if time is None and self.output.partition_by:
            msg = f"partitions need an event_time for source '{name}'"
            raise Disagreement(msg, "output", "partition_by")
        clash = doubled_in((*source.columns, *self.output.partition_by))
        if clash:
            msg = f"'{clash}' is a column already; give it another name"
            raise Disagreement(msg, "output", "partition_by")

    def _place_of_event_time(self, source: str) -> tuple[str, ...]:
        if self.event_time is None or len(self.sources) > 1:
            return ("sources", source, "event_time")
        return ("event_time", "column")

    def _trigger_agrees(self, name: str, source: BaseSource) -> None:
        if self.trigger is not Trigger.ONCE:
            return
        ignored: list[tuple[str, ...]] = [("sources", name, limit) for limit in source.rate_limits]
        if self.budget is not None:
            ignored = [("budget",)]
        if ignored:
            msg = f"trigger 'once' ignores {ignored[0][-1]}; remove it or use available_now"
            raise Disagreement(msg, *ignored[0])

    def _publish_agrees(self) -> None:
        names = [target.name for target in self.publish]
        doubled = doubled_in(names)
        if doubled:
            msg = f"'{doubled}' is there twice"
            raise Disagreement(msg, "publish")
        if "delta" in names[1:]:
            msg = "delta goes first; its head says what consumers see"
            raise Disagreement(msg, "publish")
        output = self.output
        if output.format != "parquet" and names != ["files"]:
            msg = f"{output.format} can be published as [{{kind: files}}] only"
            raise Disagreement(msg, "output", "format")
        if output.mode is not OutputMode.APPEND and output.format != "parquet":
            msg = f"mode {output.mode} is kept as parquet; remove the format"
            raise Disagreement(msg, "output", "format")
        if output.mode is not OutputMode.APPEND and "files" in names:
            msg = f"mode {output.mode} needs targets that can replace rows, not files"
            raise Disagreement(msg, "publish")
        upserts = any(getattr(target, "mode", None) == "upsert" for target in self.publish)
        if (output.mode is OutputMode.UPDATE or upserts) and not output.keys:
            msg = "name the columns that tell rows apart"
            raise Disagreement(msg, "output", "keys")

    def _sink_agrees(self) -> None:
        meant = {"publish", "gate"} & self.model_fields_set
        if meant:
            msg = f"'{min(meant)}' and 'sink' exclude each other: Spark's sinks have no gate"
            raise Disagreement(msg, min(meant))
        if self.output.partition_by:
            msg = "partitions are for files; a sink has none"
            raise Disagreement(msg, "output", "partition_by")
