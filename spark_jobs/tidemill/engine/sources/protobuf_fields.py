"""The fields of Protobuf messages as columns.

It travels to Spark's workers with what decodes the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql import types as T

TIMESTAMP = "google.protobuf.Timestamp"
# The years 1 to 9999, as the definition of Timestamp has them.
SECONDS = range(-62_135_596_800, 253_402_300_800)
NANOSECONDS = range(1_000_000_000)
OF_VALUE = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
WRAPPERS = {f"google.protobuf.{name}Value" for name in OF_VALUE}
F = FieldDescriptor
# What a number is at least as wide as.
SIGNED: tuple[type[T.DataType], ...] = (T.IntegerType, T.LongType)
TYPES: dict[int, tuple[type[T.DataType], ...]] = {
    F.CPPTYPE_INT32: SIGNED,
    F.CPPTYPE_UINT32: (T.LongType,),
    F.CPPTYPE_INT64: (T.LongType,),
    F.CPPTYPE_UINT64: (),
    F.CPPTYPE_FLOAT: (T.FloatType, T.DoubleType),
    F.CPPTYPE_DOUBLE: (T.DoubleType,),
    F.CPPTYPE_BOOL: (T.BooleanType,),
    F.CPPTYPE_ENUM: (T.StringType, *SIGNED),
}
DIGITS = {F.CPPTYPE_INT32: 10, F.CPPTYPE_UINT32: 10, F.CPPTYPE_INT64: 19, F.CPPTYPE_UINT64: 20}

Read = Callable[[Any], Any]


class Misfit(Exception):
    """A message cannot be read as the columns.

    Attributes:
        field: The field, such as `address.street`; empty for the message itself.
        reason: Why.
    """

    def __init__(self, at: tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.field = ".".join(at)
        self.reason = reason


def message_reader(message: Descriptor, columns: T.StructType, at: tuple[str, ...] = ()) -> Read:
    """What makes a struct of a message.

    A field that the message does not have is null.

    Raises:
        Misfit: a field cannot be read as its column.
    """
    fields = message.fields_by_name
    readers: dict[str, Read] = {}
    for column in columns.fields:
        place = (*at, column.name)
        if column.name in fields:
            readers[column.name] = _field_reader(fields[column.name], column.dataType, place)
        elif not column.nullable:
            raise Misfit(place, f"the message {message.full_name} has no such field")
    if not readers:
        raise Misfit(at, f"the message {message.full_name} has none of its fields")
    return lambda value: {name: read(value) for name, read in readers.items()}


def _field_reader(field: FieldDescriptor, kind: T.DataType, at: tuple[str, ...]) -> Read:
    name = field.name
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if not isinstance(kind, T.MapType):
            raise Misfit(at, f"it is a map, not {kind.simpleString()}")
        key = _value_reader(field.message_type.fields_by_name["key"], kind.keyType, at)
        value = _value_reader(field.message_type.fields_by_name["value"], kind.valueType, at)
        # In the order of their keys, so that a value is the same row whenever it is read.
        return lambda one: [(key(k), value(v)) for k, v in sorted(getattr(one, name).items())]
    if field.is_repeated:
        if not isinstance(kind, T.ArrayType):
            raise Misfit(at, f"it is repeated, not {kind.simpleString()}")
        element = _value_reader(field, kind.elementType, at)
        return lambda one: [element(v) for v in getattr(one, name)]
    read = _value_reader(field, kind, at)
    if not field.has_presence:
        return lambda one: read(getattr(one, name))
    absent = read(field.default_value) if field.has_default_value else None
    return lambda one: read(getattr(one, name)) if one.HasField(name) else absent


def _value_reader(field: FieldDescriptor, kind: T.DataType, at: tuple[str, ...]) -> Read:
    message = field.message_type
    if message is not None:
        if message.full_name == TIMESTAMP and isinstance(kind, T.TimestampType):
            return _microseconds
        if isinstance(kind, T.StructType):
            return message_reader(message, kind, at)
        if message.full_name in WRAPPERS:
            inner = _value_reader(message.fields_by_name["value"], kind, at)
            return lambda one: inner(one.value)
        raise Misfit(at, f"it is the message {message.full_name}, not {kind.simpleString()}")
    if isinstance(kind, T.DecimalType) and field.cpp_type in DIGITS:
        if kind.precision - kind.scale >= DIGITS[field.cpp_type]:
            return Decimal
    elif isinstance(kind, _types_of(field)):
        named = field.enum_type is not None and isinstance(kind, T.StringType)
        return _name_of_enum(field) if named else _as_it_is
    raise Misfit(at, f"it is {_said(field)}, not {kind.simpleString()}")


def _types_of(field: FieldDescriptor) -> tuple[type[T.DataType], ...]:
    if field.type == F.TYPE_BYTES:
        return (T.BinaryType,)
    return (T.StringType,) if field.type == F.TYPE_STRING else TYPES[field.cpp_type]


def _name_of_enum(field: FieldDescriptor) -> Read:
    names = {number: one.name for number, one in field.enum_type.values_by_number.items()}
    # proto3 keeps numbers that the schema does not name.
    return lambda number: names.get(number, str(number))


def _as_it_is(value: Any) -> Any:
    return value


def _microseconds(time: Any) -> int:
    if time.seconds not in SECONDS or time.nanos not in NANOSECONDS:
        raise ValueError
    return int(time.seconds * 1_000_000 + time.nanos // 1000)


def _said(field: FieldDescriptor) -> str:
    """A field's type as it is written in a schema."""
    if field.enum_type is not None:
        return f"the enum {field.enum_type.full_name}"
    names = {getattr(F, name): name[5:].lower() for name in dir(F) if name.startswith("TYPE_")}
    return names[field.type]
