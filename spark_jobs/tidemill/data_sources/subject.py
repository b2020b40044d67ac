"""A data source under test, read as Spark reads it: each time by a fresh reader."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark import cloudpickle
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from tidemill.contract.syntax.ddl import DdlType, column_types

Offset = dict[str, Any]
_FLAT: dict[str, type[T.DataType]] = {
    "boolean": T.BooleanType,
    "tinyint": T.ByteType,
    "smallint": T.ShortType,
    "int": T.IntegerType,
    "bigint": T.LongType,
    "float": T.FloatType,
    "double": T.DoubleType,
    "string": T.StringType,
    "binary": T.BinaryType,
    "date": T.DateType,
    "timestamp": T.TimestampType,
    "timestamp_ntz": T.TimestampNTZType,
}


@dataclass(frozen=True)
class Subject:
    """A source to try.

    Args:
        kind: Its class.
        grow: Adds at least one row to what it reads; between two calls nothing else may.
    """

    kind: type[DataSource]
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str = ""
    grow: Callable[[], None] = lambda: None


class Reading:
    """A reader of a subject, made as Spark makes it in a process of its own."""

    def __init__(self, subject: Subject) -> None:
        kind = cloudpickle.loads(cloudpickle.dumps(subject.kind))  # type: ignore[no-untyped-call]
        source = kind(dict(subject.options))
        schema = struct_of(subject.schema)
        try:
            self.reader: Any = source.streamReader(schema)
            self.simple = False
        except PySparkNotImplementedError:
            self.reader = source.simpleStreamReader(schema)
            self.simple = True

    @property
    def prepares(self) -> bool:
        """Whether it is told of the trigger availableNow."""
        return isinstance(self.reader, SupportsTriggerAvailableNow)

    def prepare(self) -> None:
        if self.prepares:
            self.reader.prepareForTriggerAvailableNow()

    def initial(self) -> Offset:
        return dict(self.reader.initialOffset())

    def latest(self, start: Offset, *, rows: int | None = None) -> Offset:
        """Where a batch ends that begins at `start`, of at most so many rows if it heeds that."""
        if self.simple:
            return dict(self.reader.read(start)[1])
        if not inspect.signature(self.reader.latestOffset).parameters:
            return dict(self.reader.latestOffset())
        limit = ReadAllAvailable() if rows is None else ReadMaxRows(rows)
        return dict(self.reader.latestOffset(start, limit))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if self.simple:
            return [] if start == end else [InputPartition((start, end))]
        return list(self.reader.partitions(start, end))

    def read(self, partition: InputPartition) -> list[Any]:
        """A partition's rows as tuples, also where the reader gives Arrow batches."""
        if self.simple:
            return list(self.reader.readBetweenOffsets(*partition.value))
        rows: list[Any] = []
        for found in self.reader.read(partition):
            batch = hasattr(found, "to_pylist")
            rows += [tuple(row.values()) for row in found.to_pylist()] if batch else [found]
        return rows

    def rows(self, start: Offset, end: Offset) -> list[Any]:
        return [row for one in self.partitions(start, end) for row in self.read(one)]

    def commit(self, end: Offset) -> None:
        self.reader.commit(end)


def struct_of(ddl: str) -> T.StructType:
    """A schema as Spark's types, without a JVM."""
    fields = [T.StructField(name, _type_of(kind)) for name, kind in column_types(ddl).items()]
    return T.StructType(fields)


def _type_of(kind: DdlType) -> T.DataType:
    if kind.name == "struct":
        fields = [T.StructField(name, _type_of(inner)) for name, inner in kind.fields.items()]
        return T.StructType(fields)
    if kind.name == "array" and kind.items is not None:
        return T.ArrayType(_type_of(kind.items))
    if kind.name == "map" and kind.keys is not None and kind.items is not None:
        return T.MapType(_type_of(kind.keys), _type_of(kind.items))
    if kind.name == "decimal":
        return T.DecimalType(kind.precision, kind.scale)
    return _FLAT[kind.name]()
