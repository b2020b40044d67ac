"""Values in Confluent's frame: a zero byte, four bytes of schema id, then the data.

A value is decoded by the kept schema of its id. A value of any other id is not guessed at: an id
that the registry does not know is malformed; one that the registry was not asked for, or whose
schema does not fit, ends the query with an error that names it, and the batch is read again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.contract.layout import Layout
from tidemill.engine.frame_errors import UNFIT, UNSEEN
from tidemill.engine.sources import framed_avro, framed_protobuf
from tidemill.sources.kafka.writer_schemas import WriterSchema, WriterSchemas
from tidemill.spec.sources.kafka_value import KafkaValue

MAGIC, FRAME_BYTES = b"\0", 5
# The data behind the frame.
DATA = f"substring(value, {FRAME_BYTES + 1})"
# What tells why values of a schema cannot be read, by their format: the field and the reason.
MISFIT = {"avro": framed_avro.misfit, "protobuf": framed_protobuf.misfit}


@dataclass(frozen=True)
class Writers:
    """The kept schemas of a source's values, as seen by the schema to read with.

    Attributes:
        fitting: Id -> the writer's schema.
        unfit: Id -> the error of a query that meets it.
        unknown: Ids that the registry did not know.
    """

    fitting: Mapping[int, WriterSchema] = field(default_factory=dict)
    unfit: Mapping[int, str] = field(default_factory=dict)
    unknown: tuple[int, ...] = ()


def writers_of(session: SparkSession, layout: Layout, value: KafkaValue) -> Writers | None:
    """The kept schemas for a value; None for values without a registry."""
    if value.registry is None:
        return None
    kept = WriterSchemas(layout, value.registry).kept().values()
    unfit = {one.id: text for one in kept if (text := _unfit(session, value, one)) is not None}
    return Writers(
        {one.id: one for one in kept if one.text is not None and one.id not in unfit},
        unfit,
        tuple(one.id for one in kept if one.text is None),
    )


def by_writer(
    conn_id: str, writers: Writers, decode: Callable[[WriterSchema], Column], as_read: Column
) -> Column:
    """The column `value`, decoded by the schema that its frame names; null where it is malformed.

    Args:
        conn_id: The registry's connection.
        decode: Writer's schema -> the decoded data.
        as_read: Any column of the type of decoded data.
    """
    # Never true: it gives the column its type, also while no schema is kept.
    chosen = F.when(F.lit(False), as_read).when(~F.coalesce(_framed(), F.lit(False)), None)
    for schema_id, writer in sorted(writers.fitting.items()):
        chosen = chosen.when(_has_id(schema_id), decode(writer))
    for schema_id in writers.unknown:
        chosen = chosen.when(_has_id(schema_id), None)
    for schema_id, error in writers.unfit.items():
        chosen = chosen.when(_has_id(schema_id), F.raise_error(F.lit(error)))
    number = F.conv(F.hex(F.substring("value", 2, FRAME_BYTES - 1)), 16, 10)
    unseen = F.concat(F.lit(UNSEEN.format(conn_id=conn_id)), number)
    return chosen.otherwise(F.raise_error(unseen))


def ids_not_kept(records: DataFrame, writers: Writers, most: int) -> list[int]:
    """The schema ids of records for which no schema is kept.

    Args:
        most: No more than these are looked for.
    """
    known = (*writers.fitting, *writers.unfit, *writers.unknown)
    other = reduce(lambda kept, one: kept & ~_has_id(one), known, _framed())
    found = records.where(other).select(_frame().alias("frame")).distinct().limit(most).collect()
    return sorted(int.from_bytes(row["frame"][len(MAGIC) :], "big") for row in found)


def _framed() -> Column:
    """Whether a value has a frame; null where there is no value."""
    return (F.length("value") >= FRAME_BYTES) & (F.substring("value", 1, 1) == F.lit(MAGIC))


def _frame() -> Column:
    return F.substring("value", 1, FRAME_BYTES)


def _has_id(schema_id: int) -> Column:
    return _frame() == F.lit(MAGIC + schema_id.to_bytes(FRAME_BYTES - len(MAGIC), "big"))


def _unfit(session: SparkSession, value: KafkaValue, writer: WriterSchema) -> str | None:
    """The error of a query that meets a schema; None for one that can be read, or is unknown."""
    if writer.text is None:
        return None
    where, why = "", f"it is of type {writer.kind}, not {value.format.upper()}"
    if writer.kind == value.format.upper():
        found = MISFIT[value.format](session, value, writer)
        if found is None:
            return None
        where, why = found
    return UNFIT.format(
        schema_id=writer.id, subject=writer.subject or "", field=where, reason=" ".join(why.split())
    )
