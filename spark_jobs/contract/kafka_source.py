"""A Kafka source of a spec, under the option names of Spark's Kafka integration guide."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from spark_jobs.contract.ddl import column_names
from spark_jobs.contract.model import Model, PlainName, doubled_in
from spark_jobs.contract.source import BaseSource, Ddl, OptionValue, Rating, checked_columns

RecordColumn = Literal[
    "key", "headers", "topic", "partition", "offset", "timestamp", "timestampType"
]
Position = Literal["earliest", "latest"]
Offsets = dict[str, dict[int, int]]


class KafkaValue(Model):
    """How a record's value becomes columns.

    Attributes:
        format: `text` and `binary` make one column, `value`.
        schema_: Spark DDL for json and csv; the writer's schema as JSON for avro.
        options: Of Spark's `from_json`, `from_csv` or `from_avro`.
    """

    format: Literal["json", "csv", "avro", "text", "binary"] = "json"
    schema_: Ddl | None = Field(default=None, alias="schema")
    options: dict[str, OptionValue] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        if self.schema_ is None:
            return ("value",)
        if self.format == "avro":
            return tuple(field["name"] for field in json.loads(self.schema_)["fields"])
        return column_names(self.schema_)

    @model_validator(mode="after")
    def _has_a_schema_where_one_is_needed(self) -> Self:
        plain = self.format in ("text", "binary")
        if plain and self.schema_ is not None:
            msg = f"a {self.format} value is one column, 'value'; remove its schema"
            raise ValueError(msg)
        if not plain and self.schema_ is None:
            msg = f"a {self.format} value needs a schema"
            raise ValueError(msg)
        if self.format in ("json", "csv"):
            checked_columns(str(self.schema_))
        return self


class KafkaSource(BaseSource):
    """Records of Kafka topics.

    Attributes:
        conn_id: The Airflow connection with brokers and secrets.
        subscribe: Topics; exactly one of `subscribe`, `subscribePattern` and `assign` is given.
        subscribePattern: A Java regular expression over topic names.
        assign: Topic -> partitions.
        value: How a value becomes columns.
        include: Which of the record's own columns the transform sees beside them.
        key_format: Of the column `key`, where it is asked for.
        startingOffsets: `earliest`, `latest`, or topic -> partition -> offset (-2 earliest,
            -1 latest); of a first run only, as later ones begin at the checkpoint.
        startingTimestamp: Milliseconds since the epoch, for all partitions.
        startingOffsetsByTimestamp: Topic -> partition -> milliseconds since the epoch.
        maxOffsetsPerTrigger: Most records that one batch may take.
        failOnDataLoss: Expired records are an error; `tidemill accept-loss` lets one pass.
        falling_behind: What to do when more arrives than is processed over several runs.
    """

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    subscribe: str | tuple[str, ...] | None = None
    subscribePattern: str | None = None
    assign: dict[str, tuple[int, ...]] | None = None
    value: KafkaValue
    include: tuple[RecordColumn, ...] = ()
    key_format: Literal["text", "binary"] = "text"
    includeHeaders: bool = False
    startingOffsets: Position | Offsets = "earliest"
    startingTimestamp: Annotated[int, Field(ge=0)] | None = None
    startingOffsetsByTimestamp: Offsets | None = None
    startingOffsetsByTimestampStrategy: Literal["error", "latest"] = "error"
    maxOffsetsPerTrigger: Annotated[int, Field(gt=0)] | None = None
    minOffsetsPerTrigger: Annotated[int, Field(gt=0)] | None = None
    maxTriggerDelay: str | None = None
    minPartitions: Annotated[int, Field(gt=0)] | None = None
    maxRecordsPerPartition: Annotated[int, Field(gt=0)] | None = None
    failOnDataLoss: bool = True
    falling_behind: Rating = Rating.WARN

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.value.columns, *self.include)

    @property
    def rate_limits(self) -> tuple[str, ...]:
        limits = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
        return tuple(name for name in limits if name in self.model_fields_set)

    @field_validator("options")
    @classmethod
    def _no_secret_in_a_file(cls, options: dict[str, Any]) -> dict[str, Any]:
        secret = next(
            (n for n in options if n.lower().startswith(("kafka.sasl", "kafka.ssl"))), None
        )
        if secret:
            msg = f"option '{secret}' belongs into the Airflow connection that conn_id names"
            raise ValueError(msg)
        return options

    @model_validator(mode="after")
    def _one_way_to_name_topics(self) -> Self:
        ways = ("subscribe", "subscribePattern", "assign")
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) != 1:
            msg = f"exactly one of {', '.join(ways)} must be given"
            raise ValueError(msg)
        doubled = doubled_in(self.columns)
        if doubled:
            msg = f"column '{doubled}' is both in the value and in 'include'"
            raise ValueError(msg)
        return self
