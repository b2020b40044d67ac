"""A Kafka source of a spec, under the option names of Spark's Kafka integration guide."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tidemill.contract.syntax.java_regex import as_python
from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.formats.table import jars_of_format
from tidemill.spec.model import PlainName, Topic, Word, doubled_in
from tidemill.spec.sources.base import BaseSource, Rating
from tidemill.spec.sources.kafka_options import ISOLATION_LEVEL, check_options
from tidemill.spec.sources.kafka_value import KafkaValue
from tidemill.spec.sources.new_fields import without_default

RecordColumn = Literal[
    "key", "headers", "topic", "partition", "offset", "timestamp", "timestampType"
]
Position = Literal["earliest", "latest"]
# Topic -> partition -> offset, as Spark writes them into a checkpoint too.
Offsets = dict[str, dict[int, int]]
EARLIEST, LATEST = -2, -1
WAYS = ("subscribe", "subscribePattern", "assign")
STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")


def _listed(given: Any) -> Any:
    """Topics as Spark takes them, in one text with commas, as a list."""
    if not isinstance(given, str):
        return given
    return [name.strip() for name in given.split(",") if name.strip()]


def _named(given: Any) -> Any:
    """Columns under the names that they have in a record, where no others are given."""
    if not isinstance(given, list | tuple):
        return given
    doubled = doubled_in(str(name) for name in given)
    if doubled:
        msg = f"'{doubled}' is given twice"
        raise ValueError(msg)
    return {name: name for name in given}


Partition = Annotated[int, Field(ge=0)]
Topics = Annotated[
    tuple[Topic, ...],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
RECORD_TYPES = {
    "key": "binary",
    "headers": "array",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
RecordColumns = Annotated[
    dict[RecordColumn, Word],
    BeforeValidator(_named),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"enum": [*get_args(RecordColumn)]}},
                {"type": "object", "propertyNames": {"enum": [*get_args(RecordColumn)]}},
            ]
        }
    ),
]


class KafkaSource(BaseSource):
    """Records of Kafka topics.

    Attributes:
        includeHeaders: Whether Spark reads the records' headers.
        maxTriggerDelay: The longest time that a batch waits for `minOffsetsPerTrigger`.
        minPartitions: The fewest tasks that a batch is divided into.
        maxRecordsPerPartition: Most records of one task.
        conn_id: The Airflow connection with brokers and secrets.
        subscribe: Topics; exactly one of `subscribe`, `subscribePattern` and `assign` is given.
        subscribePattern: A Java regular expression that is found in the names of topics.
        assign: Topic -> partitions.
        value: How a value becomes columns.
        include: Which of the record's own columns the transform sees beside them, as a list or
            with the name that each gets.
        key_format: The key format of the column `key`, where it is asked for.
        startingOffsets: `earliest`, `latest`, or topic -> partition -> offset (-2 earliest,
            -1 latest); of a first run only, as later ones begin at the checkpoint.
        startingTimestamp: Milliseconds since the epoch, for all partitions.
        startingOffsetsByTimestamp: Topic -> partition -> milliseconds since the epoch.
        startingOffsetsByTimestampStrategy: Where a partition has nothing as young as that.
        maxOffsetsPerTrigger: Most records that one batch may take.
        minOffsetsPerTrigger: Fewest records that a batch waits for, at most `maxTriggerDelay`.
        failOnDataLoss: Expired records are an error; `tidemill accept-loss` lets one pass.
        compacted: What to do about a topic whose old records are replaced by newer ones of their
            key, so that they cannot be read again; `hold` where a pipeline publishes, else `warn`.
        falling_behind: What to do when more arrives than is processed over several runs.
        commit_to_group: The consumer group (`group.id`) to which each publish commits the offsets
            up to which records are published, for monitors of the lag. Runs never read them.
    """

    HOW_READ: ClassVar = frozenset({"value", "include", "key_format", "options"})
    READS_AGAIN: ClassVar = True
    REAL_TIME: ClassVar = True

    kind: Literal["kafka"]
    conn_id: PlainName = "tidemill_kafka"
    subscribe: Topics | None = None
    subscribePattern: Annotated[str, Field(min_length=1)] | None = None
    assign: dict[Topic, tuple[Partition, ...]] | None = None
    value: KafkaValue
    include: RecordColumns = {}
    key_format: Literal["text", "binary"] = "text"
    includeHeaders: bool | None = None
    startingOffsets: Position | dict[Topic, dict[Partition, Annotated[int, Field(ge=-2)]]] = (
        "earliest"
    )
    startingTimestamp: Annotated[int, Field(ge=0)] | None = None
    startingOffsetsByTimestamp: dict[Topic, dict[Partition, Annotated[int, Field(ge=0)]]] | None = (
        None
    )
    startingOffsetsByTimestampStrategy: Literal["error", "latest"] = "error"
    maxOffsetsPerTrigger: Annotated[int, Field(gt=0)] | None = None
    minOffsetsPerTrigger: Annotated[int, Field(gt=0)] | None = None
    maxTriggerDelay: Duration | None = None
    minPartitions: Annotated[int, Field(gt=0)] | None = None
    maxRecordsPerPartition: Annotated[int, Field(gt=0)] | None = None
    failOnDataLoss: bool = True
    compacted: Rating | None = None
    falling_behind: Rating = Rating.WARN
    commit_to_group: Annotated[str, Field(min_length=1)] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.value.columns, *self.include.values())

    def type_of(self, column: str) -> str | None:
        own = next((one for one, name in self.include.items() if name == column), None)
        if own is None:
            return self.value.type_of(column)
        return "string" if own == "key" and self.key_format == "text" else RECORD_TYPES[own]

    @property
    def jar_sets(self) -> frozenset[str]:
        return jars_of_format(self.value.format) | {"kafka"}

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics that the spec names; None where a pattern does."""
        if self.assign is not None:
            return tuple(self.assign)
        return self.subscribe

    @property
    def rate_limits(self) -> tuple[str, ...]:
        limits = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
        return tuple(name for name in limits if getattr(self, name) is not None)

    @property
    def reads_committed(self) -> bool:
        """Whether records of open and aborted transactions are passed over."""
        levels = [v for n, v in self.options.items() if n.lower() == ISOLATION_LEVEL]
        return levels == ["read_committed"]

    @property
    def reader_options(self) -> dict[str, str]:
        """Every option for Spark's reader but those of the connection, as text."""
        options = super().reader_options
        options["failOnDataLoss"] = str(self.failOnDataLoss).lower()
        options["includeHeaders"] = str("headers" in self.include).lower()
        if self.assign is not None:
            options["assign"] = json.dumps(self.assign)
        elif self.subscribePattern is not None:
            options["subscribePattern"] = self.subscribePattern
        else:
            options["subscribe"] = ",".join(self.topics or ())
        if self.maxTriggerDelay is not None:
            options["maxTriggerDelay"] = f"{int(self.maxTriggerDelay.total_seconds() * 1000)}ms"
        for name in (
            "startingTimestamp",
            "maxOffsetsPerTrigger",
            "minOffsetsPerTrigger",
            "minPartitions",
            "maxRecordsPerPartition",
        ):
            if getattr(self, name) is not None:
                options[name] = str(getattr(self, name))
        return options | self._starting_options

    @property
    def _starting_options(self) -> dict[str, str]:
        start, by_time = self.startingOffsets, self.startingOffsetsByTimestamp
        strategy: dict[str, str] = {
            "startingOffsetsByTimestampStrategy": self.startingOffsetsByTimestampStrategy
        }
        if by_time is not None:
            return {"startingOffsetsByTimestamp": json.dumps(by_time), **strategy}
        if self.startingTimestamp is not None:
            return strategy
        return {"startingOffsets": start if isinstance(start, str) else json.dumps(start)}

    @property
    def decoded_by_python(self) -> bool:
        return self.value.format == "protobuf"

    def reading(self) -> dict[str, Any]:
        fields = super().reading()
        return {**fields, "value": without_default(fields["value"])}

    def as_read(self, fields: Mapping[str, Any]) -> Self:
        value = KafkaValue.of_reading(fields["value"]) if "value" in fields else self.value
        return super().as_read({**fields, "value": value})

    @field_validator("options")
    @classmethod
    def _readers_own(cls, options: dict[str, Any]) -> dict[str, Any]:
        check_options(options, set(cls.model_fields) - {"options"})
        return options

    @field_validator("subscribePattern")
    @classmethod
    def _understood(cls, pattern: str | None) -> str | None:
        if pattern is not None and as_python(pattern) is None:
            msg = f"'{pattern}' is not a regular expression that Java and Python read alike"
            raise ValueError(msg)
        return pattern

    @model_validator(mode="after")
    def _topics_are_named_once(self) -> Self:
        given = [name for name in WAYS if getattr(self, name) is not None]
        if len(given) != 1:
            msg = f"exactly one of {', '.join(WAYS)} must be given"
            raise ValueError(msg)
        if self.topics is not None:
            if not self.topics or (self.assign and not all(self.assign.values())):
                msg = f"'{given[0]}' names no {'topic' if not self.topics else 'partition'}"
                raise ValueError(msg)
            if len(set(self.topics)) < len(self.topics):
                msg = f"'{given[0]}' names a topic twice"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _columns_are_told_apart(self) -> Self:
        doubled = doubled_in(self.columns)
        if doubled:
            msg = (
                f"column '{doubled}' is both in the value and in 'include'; write "
                f"include: {{{doubled}: kafka_{doubled}}} to give the record's own another name"
            )
            raise ValueError(msg)
        if "key_format" in self.model_fields_set and "key" not in self.include:
            msg = "key_format is for the column 'key', which 'include' does not ask for"
            raise ValueError(msg)
        headers = "headers" in self.include
        if self.includeHeaders is not None and self.includeHeaders is not headers:
            msg = "includeHeaders and 'headers' in 'include' contradict each other"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _begins_in_one_place(self) -> Self:
        given = [name for name in STARTS if name in self.model_fields_set]
        if len(given) > 1:
            # Spark would take the last of the guide's list and pass over the others in silence.
            msg = f"{' and '.join(given)} exclude each other"
            raise ValueError(msg)
        by_time = {"startingTimestamp", "startingOffsetsByTimestamp"} & self.model_fields_set
        if "startingOffsetsByTimestampStrategy" in self.model_fields_set and not by_time:
            msg = "startingOffsetsByTimestampStrategy needs a starting timestamp"
            raise ValueError(msg)
        for name in ("startingOffsets", "startingOffsetsByTimestamp"):
            named = getattr(self, name)
            if isinstance(named, dict) and not self._covers(named):
                msg = f"{name} must name each of the source's topics and assigned partitions"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _limits_agree(self) -> Self:
        least, most = self.minOffsetsPerTrigger, self.maxOffsetsPerTrigger
        if least is not None and most is not None and least > most:
            msg = f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})"
            raise ValueError(msg)
        if self.maxTriggerDelay is not None and least is None:
            msg = "maxTriggerDelay says how long minOffsetsPerTrigger waits, which is not given"
            raise ValueError(msg)
        return self

    def _covers(self, named: Offsets) -> bool:
        """Spark wants every partition; those of a subscription only the broker knows."""
        if self.assign is not None:
            wanted = {topic: set(partitions) for topic, partitions in self.assign.items()}
            return {topic: set(partitions) for topic, partitions in named.items()} == wanted
        return self.topics is None or set(named) == set(self.topics)
