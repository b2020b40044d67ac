"""A Kafka source: the rows of records as they arrive, or of a range of offsets.

Each value is parsed once. A filter of the transform's would otherwise be pushed below the parsing,
which is then done once for the filter and once for the columns (Spark 4.2); nothing is pushed below
a generator's output.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TypeVar

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StructType

from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.kafka import spark_options
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.framed_values import Writers, writers_of
from tidemill.engine.sources.json_objects import ObjectColumns, computed_once
from tidemill.engine.sources.kafka_value import (
    ends,
    fields_of,
    fits,
    found_in,
    parse,
    raw,
    with_json_object,
)
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.ranges_read import RangesRead
from tidemill.spark_logs.offset_ranges import Range, joined
from tidemill.spec.column_types import quoted
from tidemill.spec.sources.kafka import KafkaSource, Offsets
from tidemill.spec.sources.kafka_value import BINARY_RECORDS, KafkaValue
from tidemill.spec.sources.new_fields import Rescue, rescue_column
from tidemill.spec.spec import Spec

PARSED = "_tidemill_parsed"
FIELDS = "_tidemill_fields"
ENDS = "_tidemill_ends"
# The columns of Spark's Kafka source.
RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key: string, value: binary>>"
)
# What says where a stream begins and how much a batch takes means nothing to a given range.
OF_A_STREAM = ("assign", "subscribe", "starting", "max", "min")

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


@dataclass(frozen=True)
class SparkKafkaSource(SparkSource[KafkaSource]):
    """Records of topics."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        spec = self.pipeline.spec
        writers = self._writers()
        return stream(
            self.session, self.name, self.spec, spec, writers=writers, continuous=continuous
        )

    def schema(self) -> StructType:
        # Without records neither a connection nor the jars of the source are needed.
        rows = _rows(self.session.createDataFrame([], RECORDS), self.spec)
        return rows.select(*map(quoted, self.spec.columns)).schema

    def read_again(self, ledger: Ledger, batch: Batch, before: Batch | None) -> DataFrame:
        return self.read_part((), RangesRead(ledger).read_by(batch, before).get(self.name, ()))

    def read_part(
        self, files: Sequence[tuple[Path, InputFile]], ranges: Sequence[Range]
    ) -> DataFrame:
        writers = self._writers()
        reads = [
            read_batch(self.session, self.spec, *span, writers=writers) for span in spans(ranges)
        ]
        return reduce(DataFrame.unionAll, reads) if reads else self.empty()

    def _writers(self) -> Writers | None:
        return writers_of(self.session, self.pipeline.layout, self.spec.value)


def stream(
    session: SparkSession,
    name: str,
    source: KafkaSource,
    spec: Spec,
    environ: Mapping[str, str] = os.environ,
    *,
    writers: Writers | None = None,
    continuous: bool = False,
) -> DataFrame:
    """The rows of new records.

    Args:
        writers: The kept schemas, for values with a registry.
        continuous: For a continuous query, which Spark lets hold no generator.

    Raises:
        UsageError: the connection is missing or cannot be understood.
    """
    reader = _connected(session.readStream.name(name), source, environ)
    records = reader.options(**source.reader_options).load()
    return _rows(records, source, writers, continuous=continuous)


def read_batch(
    session: SparkSession,
    source: KafkaSource,
    starting: Offsets,
    ending: Offsets,
    environ: Mapping[str, str] = os.environ,
    *,
    writers: Writers | None = None,
) -> DataFrame:
    """The rows of a range of records, shaped like those of `stream`.

    Args:
        starting: As for `records_between`.
        ending: As for `records_between`.
        writers: The kept schemas, for values with a registry.
    """
    return _rows(records_between(session, source, starting, ending, environ), source, writers)


def records_between(
    session: SparkSession,
    source: KafkaSource,
    starting: Offsets,
    ending: Offsets,
    environ: Mapping[str, str] = os.environ,
) -> DataFrame:
    """A range of records with Spark's own columns.

    Args:
        starting: Topic -> partition -> first offset; a partition that is missing here was added
            during the range and is read from 0, as Spark does in a stream.
        ending: Topic -> partition -> the offset after the last, such as a ledger batch's.
    """
    options = {n: v for n, v in source.reader_options.items() if not n.startswith(OF_A_STREAM)}
    first = {
        topic: {partition: starting.get(topic, {}).get(partition, 0) for partition in ends}
        for topic, ends in ending.items()
    }
    if source.minPartitions is not None:
        options["minPartitions"] = str(source.minPartitions)
    if source.maxRecordsPerPartition is not None:
        options["maxRecordsPerPartition"] = str(source.maxRecordsPerPartition)
    options |= {
        "assign": json.dumps({topic: sorted(ends) for topic, ends in ending.items()}),
        "startingOffsets": json.dumps(first),
        "endingOffsets": json.dumps(ending),
    }
    return _connected(session.read, source, environ).options(**options).load()


def _connected(reader: Reader, source: KafkaSource, environ: Mapping[str, str]) -> Reader:
    return reader.format("kafka").options(**spark_options(connection(source.conn_id, environ)))


def _with_parsed(
    records: DataFrame, value: KafkaValue, writers: Writers | None, *, continuous: bool
) -> DataFrame | None:
    """Records with what their values are, each computed once; None where a value is one column."""
    further = {} if value.new_fields == "ignore" else {FIELDS: fields_of(value)}
    if value.format == "json":
        if not continuous:
            return with_json_object(records, value, ObjectColumns(PARSED, ENDS), further)
        further[ENDS] = ends(value)
    parsed = parse(value, writers)
    if parsed is None:
        return None
    columns = {PARSED: parsed, **further}
    # A continuous query goes without a generator.
    return records.withColumns(columns) if continuous else computed_once(records, columns)


def _rows(
    records: DataFrame,
    source: KafkaSource,
    writers: Writers | None = None,
    *,
    continuous: bool = False,
) -> DataFrame:
    value = source.value
    origin = F.concat(F.lit("kafka:"), F.concat_ws("/", "topic", "partition", "offset"))
    own = [_record_column(kind, source).alias(name) for kind, name in source.include.items()]
    parsed = _with_parsed(records, value, writers, continuous=continuous)
    if parsed is None:
        column = F.col("value").cast("string") if value.format == "text" else F.col("value")
        columns = [column.alias("value")]
    else:
        records = parsed
        path = f"{PARSED}.record" if value.format in BINARY_RECORDS else PARSED
        rescue = rescue_column(value.new_fields)
        columns = [
            F.col(path).getField(name).alias(name) for name in value.columns if name not in rescue
        ]
    corrupt = _corrupt(source)
    if value.new_fields != "ignore":
        found = found_in(value, FIELDS)
        if isinstance(value.new_fields, Rescue):
            rescued = F.when(corrupt.isNull(), found.rescued())
            columns.append(rescued.alias(value.new_fields.rescue))
        else:
            corrupt = F.coalesce(corrupt, found.refused(origin))
    return records.select(*columns, *own, corrupt.alias(CORRUPT), origin.alias(ORIGIN))


def _corrupt(source: KafkaSource) -> Column:
    """An unparsed value as text, or in base64 if it is not text."""
    kind = source.value.format
    wrong = []
    if kind not in ("text", "binary"):
        wrong.append(F.when(F.col("value").isNull(), _tombstone()))
    if kind not in (*BINARY_RECORDS, "binary"):
        # Spark would put U+FFFD where a byte is wrong, and go on.
        wrong.append(F.when(~F.is_valid_utf8(F.col("value").cast("string")), F.base64("value")))
    if kind not in ("text", "binary"):
        wrong.append(F.when(~fits(source.value, PARSED, F.col(ENDS)), raw(source.value)))
    if "key" in source.include and source.key_format == "text":
        is_text = F.is_valid_utf8(F.col("key").cast("string"))
        wrong.append(F.when(~is_text, F.coalesce(raw(source.value), F.lit(""))))
    return F.coalesce(*wrong, F.lit(None).cast("string"))


def _tombstone() -> Column:
    """A record without a value, as the JSON of its key."""
    text = F.col("key").cast("string")
    key = F.when(F.is_valid_utf8(text), text).otherwise(F.base64("key"))
    nothing = F.lit(None).cast("string")
    record = F.struct(key.alias("key"), nothing.alias("value"))
    return F.to_json(record, {"ignoreNullFields": "false"})


def _record_column(kind: str, source: KafkaSource) -> Column:
    if kind == "key" and source.key_format == "text":
        return F.col("key").cast("string")
    return F.col(kind)


def spans(ranges: Iterable[Range]) -> list[tuple[Offsets, Offsets]]:
    """Joins offsets into as few reads as possible, each with one range per partition."""
    rounds: list[dict[tuple[str, int], Range]] = []
    for one in joined(ranges):
        place = (one.topic, one.partition)
        free = next((each for each in rounds if place not in each), None)
        if free is None:
            rounds.append(free := {})
        free[place] = one
    return [
        (_offsets(each.values(), first=True), _offsets(each.values(), first=False))
        for each in rounds
    ]


def _offsets(ranges: Iterable[Range], *, first: bool) -> Offsets:
    found: dict[str, dict[int, int]] = {}
    for one in ranges:
        found.setdefault(one.topic, {})[one.partition] = one.first if first else one.until
    return found
