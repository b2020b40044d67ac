"""Columns of an Avro schema, by the table of Spark's Avro guide."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidemill.spec.schema_files.column import FileColumn, UnknownType, struct

_PLAIN = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
    "fixed": "binary",
    "enum": "string",
}
_LOGICAL = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
# Unions that Spark reads as one type.
_WIDER = {frozenset({"int", "bigint"}): "bigint", frozenset({"float", "double"}): "double"}


def avro_columns(record: Mapping[str, Any]) -> Iterator[FileColumn]:
    """The columns of a record.

    Raises:
        UnknownType: a field has no type, or one that contains itself.
    """
    known: dict[str, Mapping[str, Any]] = {}
    for field in record["fields"]:
        kind = _type(field.get("type"), str(field["name"]), known, ())
        yield FileColumn(str(field["name"]), kind, str(field.get("doc", "")))


def _type(
    kind: Any, name: str, known: dict[str, Mapping[str, Any]], within: tuple[str, ...]
) -> str:
    if isinstance(kind, list):
        return _union(kind, name, known, within)
    if isinstance(kind, str) and kind in _PLAIN:
        return _PLAIN[kind]
    given = known.get(kind) if isinstance(kind, str) else kind
    if not isinstance(given, dict) or "type" not in given:
        raise UnknownType(name, f"has the type {kind!r}, which Avro does not know")
    if "name" in given:
        called = str(given["name"])
        if called in within:
            raise UnknownType(name, f"contains '{called}' within itself, which no column can")
        known[called] = given
        known.setdefault(f"{given.get('namespace', '')}.{called}", given)
        within = (*within, called)
    inner = given["type"]
    logical = given.get("logicalType")
    if logical == "decimal":
        return f"decimal({given['precision']},{given.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if inner == "array":
        return f"array<{_type(given.get('items'), name, known, within)}>"
    if inner == "map":
        return f"map<string, {_type(given.get('values'), name, known, within)}>"
    if inner == "record":
        fields = ((str(one["name"]), one.get("type")) for one in given["fields"])
        return struct((field, _type(one, field, known, within)) for field, one in fields)
    return _type(inner, name, known, within)


def _union(
    kinds: Sequence[Any], name: str, known: dict[str, Mapping[str, Any]], within: tuple[str, ...]
) -> str:
    types = [_type(one, name, known, within) for one in kinds if one != "null"]
    if len(types) == 1:
        return types[0]
    wider = _WIDER.get(frozenset(types))
    if wider is not None:
        return wider
    if not types:
        raise UnknownType(name, "is null alone, which is not a type")
    # Spark reads any other union as a struct with a field for each member.
    return struct((f"member{number}", one) for number, one in enumerate(types))
