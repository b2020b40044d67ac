"""Columns of a JSON Schema, and of a schema in Spark's own JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidemill.spec.schema_files.column import FileColumn, UnknownType, struct

_PLAIN = {"integer": "bigint", "number": "double", "boolean": "boolean", "string": "string"}
_FORMATS = {"date-time": "timestamp", "date": "date"}


def spark_columns(schema: Mapping[str, Any]) -> Iterator[FileColumn]:
    """The columns of a struct as Spark's `schema.json()` writes it."""
    for field in schema["fields"]:
        name = str(field["name"])
        described = field.get("metadata", {}).get("comment", "")
        yield FileColumn(name, _spark_type(field.get("type"), name), str(described))


def _spark_type(kind: Any, name: str) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, dict) and kind.get("type") == "array":
        return f"array<{_spark_type(kind.get('elementType'), name)}>"
    if isinstance(kind, dict) and kind.get("type") == "map":
        pair = (_spark_type(kind.get(part), name) for part in ("keyType", "valueType"))
        return f"map<{', '.join(pair)}>"
    if isinstance(kind, dict) and kind.get("type") == "struct":
        fields = ((str(one["name"]), one.get("type")) for one in kind["fields"])
        return struct((field, _spark_type(one, field)) for field, one in fields)
    raise UnknownType(name, f"has the type {kind!r}, which Spark does not know")


def json_schema_columns(schema: Mapping[str, Any]) -> Iterator[FileColumn]:
    """The columns of an object that a JSON Schema describes.

    Raises:
        UnknownType: a property has no type, or several.
    """
    for name, part in schema["properties"].items():
        described = part.get("description", "") if isinstance(part, dict) else ""
        yield FileColumn(name, _type(part, name, schema, ()), str(described))


def _type(part: Any, name: str, root: Mapping[str, Any], within: tuple[str, ...]) -> str:
    if not isinstance(part, dict):
        raise UnknownType(name, "has no type")
    if "$ref" in part:
        target = str(part["$ref"])
        if target in within:
            raise UnknownType(name, f"contains '{target}' within itself, which no column can")
        return _type(_referred(root, target, name), name, root, (*within, target))
    choices = [one for key in ("anyOf", "oneOf") for one in part.get(key, ())]
    some = [one for one in choices if one != {"type": "null"}]
    if len(some) == 1:
        return _type(some[0], name, root, within)
    kinds = part.get("type")
    named = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if one != "null"]
    kind = named[0] if len(named) == 1 else None
    values = part.get("enum", [part["const"]] if "const" in part else [])
    if kind is None and values and all(isinstance(one, str) for one in values):
        kind = "string"
    if {*named} == {"integer", "number"}:
        kind = "number"
    if kind == "string":
        return _FORMATS.get(str(part.get("format")), "string")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "array":
        return f"array<{_type(part.get('items'), name, root, within)}>"
    if kind == "object" and part.get("properties"):
        fields = part["properties"].items()
        return struct((field, _type(one, field, root, within)) for field, one in fields)
    if kind == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"map<string, {_type(part['additionalProperties'], name, root, within)}>"
    raise UnknownType(name, "has not exactly one type that a column can have")


def _referred(root: Mapping[str, Any], target: str, name: str) -> Any:
    found: Any = root
    for step in target.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, dict) else None
    if not target.startswith("#/") or found is None:
        raise UnknownType(name, f"refers to '{target}', which is not in this file")
    return found
