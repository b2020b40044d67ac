"""Protobuf messages as rows, by the descriptors that they were written with.

It travels to Spark's workers, which have pyspark, pyarrow and protobuf, and nothing of Tidemill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql.types import StructType

from tidemill.engine.sources.protobuf_fields import Misfit, message_reader

FRAME_BYTES = 5
# Where a message stands in its file, such as (0, 2) for the third that the first has within it.
Messages = dict[tuple[int, ...], Descriptor]


@dataclass(frozen=True)
class Writer:
    """A schema that values were written with.

    Attributes:
        files: Serialized `FileDescriptorProto`, each after what it imports; the schema's own last.
        message: The full name of the message to read; None for the first of the schema.
        other: The error about a value that holds another message, up to that message's name; None
            where such values are malformed.
    """

    files: tuple[bytes, ...]
    message: str | None
    other: str | None

    def messages(self) -> Messages:
        """Every message of the schema's file, in the order of their indexes.

        Raises:
            Misfit: the files do not go together.
        """
        pool = DescriptorPool()
        try:
            for one in self.files:
                file = pool.AddSerializedFile(one)
        except TypeError as error:
            raise Misfit((), f"its files do not go together: {error}") from error
        found: Messages = {}
        _collect(file.message_types_by_name.values(), (), found)
        return found

    def to_read(self, messages: Messages) -> tuple[int, ...] | None:
        """The indexes of the message to read; None where the schema does not have it."""
        named = (at for at, one in messages.items() if self.message in (None, one.full_name))
        return next(named, None)


def _collect(
    messages: Iterable[Descriptor],
    at: tuple[int, ...],
    found: Messages,
) -> None:
    for number, one in enumerate(messages):
        found[*at, number] = one
        _collect(one.nested_types, (*at, number), found)


class Decoder:
    """Decodes framed values.

    Args:
        writers: Schema id -> the schema.
        columns: The columns to read.
        result: The Arrow type of a decoded value: a struct of `record` and `error`.
    """

    def __init__(
        self, writers: Mapping[int, Writer], columns: StructType, result: pa.DataType
    ) -> None:
        self.writers = writers
        self.columns = columns
        self.result = result
        self._readers: dict[int, Callable[[bytes], dict[str, Any]]] = {}

    def decode(self, values: pa.Array) -> pa.Array:
        """Each value's record, or its error; neither for a value that is malformed or unknown."""
        return pa.array([self._decoded(one) for one in values.to_pylist()], self.result)

    def _decoded(self, value: bytes | None) -> dict[str, Any]:
        nothing = {"record": None, "error": None}
        if value is None or len(value) < FRAME_BYTES or value[0] != 0:
            return nothing
        schema_id = int.from_bytes(value[1:FRAME_BYTES], "big")
        if schema_id not in self.writers:
            return nothing
        if schema_id not in self._readers:
            self._readers[schema_id] = self._reader(self.writers[schema_id])
        try:
            return nothing | self._readers[schema_id](value[FRAME_BYTES:])
        except (DecodeError, ValueError):
            return nothing

    def _reader(self, writer: Writer) -> Callable[[bytes], dict[str, Any]]:
        messages = writer.messages()
        chosen = writer.to_read(messages)
        if chosen is None:
            return lambda _: {}
        kind = GetMessageClass(messages[chosen])
        read = message_reader(messages[chosen], self.columns)

        def decoded(data: bytes) -> dict[str, Any]:
            indexes, rest = message_indexes(data)
            if indexes == chosen:
                return {"record": read(kind.FromString(rest))}
            if indexes in messages and writer.other is not None:
                return {"error": f"{writer.other}'{messages[indexes].full_name}'"}
            return {}

        return decoded


def message_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Which message a value holds, and the rest: its data.

    The indexes are a count and numbers, as variable-length zigzag integers; a single zero stands
    for the first message ("Wire format" in Confluent's documentation of its serializers).

    Raises:
        ValueError: the data ends before them, or they make no sense.
    """
    count, data = _number(data)
    if count == 0:
        return (0,), data
    if not 0 < count <= len(data):
        raise ValueError
    found = []
    for _ in range(count):
        index, data = _number(data)
        found.append(index)
    return tuple(found), data


def _number(data: bytes) -> tuple[int, bytes]:
    number = 0
    for place, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), data[place + 1 :]
    raise ValueError


def function_of(decoder: Decoder) -> Callable[[pa.Array], pa.Array]:
    """What Spark calls with an array of values at a time."""

    def decode(values: pa.Array) -> pa.Array:
        return decoder.decode(values)

    return decode
