"""Avro schemas as JSON: which field is at a place, and which is measured in another unit."""

from collections.abc import Iterator, Mapping
from typing import Any

# What the bytes of a logical type mean depends on these.
UNITS = ("logicalType", "scale")


def field_at(schema: Any, location: str) -> str:
    """The field at a place of a schema, such as `address.street`; empty for the schema itself.

    Args:
        schema: The schema's JSON.
        location: As Avro's library gives it, such as `/fields/1/type/fields/0`.
    """
    names, node, before = [], schema, ""
    for part in location.strip("/").split("/"):
        if isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
            if before == "fields":
                names.append(str(node["name"]))
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            break
        before = part
    return ".".join(names)


def other_unit(reader: Any, writer: Any) -> tuple[str, str] | None:
    """The first field whose logical type differs, and how it does; None where all agree.

    Avro's resolution takes no notice of logical types: milliseconds would be read as microseconds.
    """
    return next(_other_units(reader, writer, ()), None)


def _other_units(reader: Any, writer: Any, at: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    reader, writer = _alone(reader), _alone(writer)
    if not isinstance(reader, dict) or not isinstance(writer, dict):
        return
    if reader.get("logicalType") and writer.get("logicalType"):
        units = [" ".join(str(one[n]) for n in UNITS if n in one) for one in (writer, reader)]
        if units[0] != units[1]:
            yield ".".join(at), f"written as {units[0]}, and read as {units[1]}"
    written = {field["name"]: field for field in writer.get("fields", ())}
    for field in reader.get("fields", ()):
        found = next((written[n] for n in _names(field) if n in written), None)
        if found is not None:
            yield from _other_units(field["type"], found["type"], (*at, str(field["name"])))
    for part in ("items", "values"):
        if part in reader and part in writer:
            yield from _other_units(reader[part], writer[part], at)
    # The type of a type: `{"type": {"type": "long", "logicalType": "timestamp-millis"}}`.
    inner = (reader.get("type"), writer.get("type"))
    if all(isinstance(one, dict | list) for one in inner):
        yield from _other_units(*inner, at)


def _alone(schema: Any) -> Any:
    """The only type of a union beside null."""
    if not isinstance(schema, list):
        return schema
    others = [one for one in schema if one != "null"]
    return others[0] if len(others) == 1 else None


def _names(field: Mapping[str, Any]) -> list[str]:
    return [field["name"], *field.get("aliases", ())]
