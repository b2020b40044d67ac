"""Protobuf values, decoded by a Python function.

Spark's own `from_protobuf` is in a jar that could not be had for this version of Spark.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from graphlib import TopologicalSorter
from importlib import import_module

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from pyspark import cloudpickle
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from tidemill.engine.frame_errors import UNFIT
from tidemill.engine.sources import protobuf_fields, protobuf_rows
from tidemill.engine.sources.columns import schema_of
from tidemill.engine.sources.protobuf_fields import Misfit, message_reader
from tidemill.engine.sources.protobuf_rows import Decoder, Writer
from tidemill.sources.kafka.schema_registry import MAIN_FILE
from tidemill.sources.kafka.writer_schemas import WriterSchema
from tidemill.spec.sources.kafka_value import KafkaValue


def misfit(_: SparkSession, value: KafkaValue, writer: WriterSchema) -> tuple[str, str] | None:
    """The field that cannot be read, and why; None where all can."""
    try:
        read = _writer(value, writer)
        messages = read.messages()
        chosen = read.to_read(messages)
        if chosen is None and value.message is None:
            return "", "it has no message"
        # Values of another message than the one that the spec names are malformed.
        if chosen is not None:
            message_reader(messages[chosen], _columns(value))
    except Misfit as error:
        return error.field, error.reason
    return None


def decoded(value: KafkaValue, writers: Mapping[int, WriterSchema]) -> Column:
    """The column `value` as a struct with the field `record`, which is null where it is malformed.

    Args:
        writers: Schema id -> a schema that fits.
    """
    columns = _columns(value)
    result = StructType([StructField("record", columns), StructField("error", StringType())])
    send_by_value()
    decoder = Decoder(
        {number: _writer(value, one) for number, one in writers.items()},
        columns,
        pa.struct(to_arrow_schema(result, timezone="UTC")),
    )
    decode = protobuf_rows.function_of(decoder)
    found = F.arrow_udf(decode, result)(F.col("value"))  # type: ignore[call-overload]
    error = found.getField("error")
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(found)


def send_by_value() -> None:
    """Send the decoding modules themselves: the workers of a cluster have nothing of Tidemill."""
    for module in (protobuf_fields, protobuf_rows):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _columns(value: KafkaValue) -> StructType:
    return schema_of(str(value.schema_), "sources.*.value.schema")


def _writer(value: KafkaValue, writer: WriterSchema) -> Writer:
    """A kept schema as what workers decode with.

    Raises:
        Misfit: it imports a file that neither the registry nor this environment has.
    """
    reason = "value.message does not name the message to read, and a value holds the other message "
    other = UNFIT.format(schema_id=writer.id, subject=writer.subject or "", field="", reason=reason)
    files = tuple(_files(json.loads(str(writer.text))))
    return Writer(files, value.message, other if value.message is None else None)


def _files(kept: Mapping[str, str]) -> Iterator[bytes]:
    """Each file of a schema, serialized, after those that it imports."""
    files: dict[str, FileDescriptorProto] = {}
    missing = [MAIN_FILE]
    while missing:
        name = missing.pop()
        files[name] = _file(name, kept)
        missing += [one for one in files[name].dependency if one not in files]
    graph = {name: [*one.dependency] for name, one in files.items()}
    for name in TopologicalSorter(graph).static_order():
        yield files[name].SerializeToString(deterministic=True)


def _file(name: str, kept: Mapping[str, str]) -> FileDescriptorProto:
    """A file as the registry gave it, or one of Google's own, which come with packages."""
    file = FileDescriptorProto()
    if name in kept:
        try:
            file.ParseFromString(b64decode(kept[name]))
        except DecodeError as error:
            raise Misfit((), f"the registry's '{name}' is not a descriptor: {error}") from error
        # The registry calls every file `default`; others import it by the name in the references.
        file.name = name
        return file
    # A schema may name any module, and importing one runs it.
    if name.startswith("google/"):
        with suppress(ImportError):
            module = import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
            module.DESCRIPTOR.CopyToProto(file)
            return file
    raise Misfit((), f"it imports '{name}', which the registry does not have")
