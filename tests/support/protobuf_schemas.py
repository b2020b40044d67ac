"""Protobuf schemas without a compiler: messages as field -> type, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP_FILE
from google.protobuf.wrappers_pb2 import DESCRIPTOR as WRAPPERS_FILE

Field = DescriptorProto().field.add().__class__
GOOGLES = {file.name: file for file in (TIMESTAMP_FILE, WRAPPERS_FILE)}


def message(name: str, **fields: str) -> DescriptorProto:
    """A message.

    Args:
        fields: Name -> a scalar's type, a full name such as `shop.Address`, `repeated TYPE`,
            `optional TYPE` or `map TYPE TYPE`.
    """
    made = DescriptorProto(name=name)
    for number, (field, written) in enumerate(fields.items(), 1):
        _add(made, field, number, written.split())
    return made


def _add(made: DescriptorProto, name: str, number: int, words: Sequence[str]) -> None:
    one = made.field.add(name=name, number=number, label=Field.LABEL_OPTIONAL)
    if words[0] == "map":
        entry = made.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        _add(entry, "key", 1, [words[1]])
        _add(entry, "value", 2, [words[2]])
        one.label, one.type = Field.LABEL_REPEATED, Field.TYPE_MESSAGE
        one.type_name = entry.name
        return
    if words[0] == "repeated":
        one.label = Field.LABEL_REPEATED
    elif words[0] == "optional":
        one.proto3_optional = True
        one.oneof_index = len(made.oneof_decl)
        made.oneof_decl.add(name=f"_{name}")
    kind = words[-1]
    if f"TYPE_{kind.upper()}" in Field.Type.keys():  # noqa: SIM118
        one.type = Field.Type.Value(f"TYPE_{kind.upper()}")
    else:
        one.type_name = f".{kind}"


def enum(name: str, *values: str) -> EnumDescriptorProto:
    """An enum whose values count from 0."""
    made = EnumDescriptorProto(name=name)
    for number, value in enumerate(values):
        made.value.add(name=value, number=number)
    return made


def schema(
    *parts: DescriptorProto | EnumDescriptorProto,
    name: str = "default",
    package: str = "shop",
    imports: Sequence[str] = (),
    syntax: str = "proto3",
) -> FileDescriptorProto:
    """A file with messages and enums."""
    file = FileDescriptorProto(name=name, package=package, dependency=imports)
    if syntax != "proto2":
        file.syntax = syntax
    for one in parts:
        (file.message_type if isinstance(one, DescriptorProto) else file.enum_type).append(one)
    return file


def encoded(
    file: FileDescriptorProto,
    name: str,
    row: Mapping[str, Any],
    imported: Sequence[FileDescriptorProto] = (),
) -> bytes:
    """A message with some fields, as a producer writes it without a frame.

    Args:
        name: The message's full name.
        imported: What the file imports, beside Google's own.
    """
    pool = DescriptorPool()
    for known in GOOGLES.values():
        pool.AddSerializedFile(known.serialized_pb)
    for one in (*imported, file):
        pool.Add(one)
    return bytes(GetMessageClass(pool.FindMessageTypeByName(name))(**row).SerializeToString())


def framed(schema_id: int, data: bytes, indexes: bytes = b"\0") -> bytes:
    """A value as Confluent's serializers write it: zero, the id, which message it is, the data."""
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + data
