"""The page of every field of a spec, from the JSON Schema that editors read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidemill.spec.json_schema import spec_schema

INTRODUCTION = """# Every field of a spec

`make schema` writes this page from the models that read a spec; do not edit it. Editors complete
the same fields from [`spec.schema.json`](../../dags/specs/spec.schema.json).

`NAME` stands for a name that you give. A field without a default has to be there.
"""
HEAD = ("| field | type | default | description |", "|---|---|---|---|")
Schema = Mapping[str, Any]


def spec_page() -> str:
    """The page as Markdown: a section for each part of a spec, in order of appearance."""
    schema = spec_schema()
    sections = dict(_headings(schema))
    parts = [INTRODUCTION]
    for name, heading in sections.items():
        model = schema["$defs"].get(name, schema)
        parts.append("\n".join(_section(heading, model, schema["$defs"], sections)) + "\n")
    return "\n".join(parts)


def _headings(schema: Schema) -> Iterator[tuple[str, str]]:
    """Each model with the path at which it appears first, breadth first."""
    seen, waiting = set[str](), [("", "", schema)]
    while waiting:
        path, name, model = waiting.pop(0)
        kind = model.get("properties", {}).get("kind", {}).get("const")
        yield (
            name,
            f"`{path}` of kind `{kind}`" if kind else f"`{path}`" if path else "The whole spec",
        )
        for field, given in model.get("properties", {}).items():
            for suffix, found in _models_in(given):
                if found not in seen and "properties" in schema["$defs"][found]:
                    seen.add(found)
                    inner = f"{path}.{field}" if path else field
                    waiting.append((inner + suffix, found, schema["$defs"][found]))


def _models_in(given: Any, suffix: str = "") -> Iterator[tuple[str, str]]:
    """The models that a field can hold, each with what stands behind the field's name."""
    if isinstance(given, list):
        for one in given:
            yield from _models_in(one, suffix)
    elif isinstance(given, dict):
        if "$ref" in given:
            yield suffix, _name(given)
        for key, value in given.items():
            if key in ("anyOf", "oneOf", "allOf"):
                yield from _models_in(value, suffix)
            elif key == "items":
                yield from _models_in(value, f"{suffix}[]")
            elif key in ("additionalProperties", "patternProperties"):
                inner = [*value.values()] if key == "patternProperties" else value
                yield from _models_in(inner, f"{suffix}.NAME")


def _section(
    heading: str, model: Schema, models: Schema, sections: Mapping[str, str]
) -> Iterator[str]:
    yield f"## {heading}\n"
    yield f"{model['description']}\n"
    yield from HEAD
    for name, field in model["properties"].items():
        required = name in model.get("required", ())
        cells = (
            f"`{name}`",
            _type(field, models, sections),
            "" if required else _default(field),
            field["description"],
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: Schema) -> str:
    if field.get("default") in (None, {}, [], ""):
        return "none"
    default = field["default"]
    if isinstance(default, str):
        return f"`{default}`"
    return "see there" if isinstance(default, dict | list) else f"`{json.dumps(default)}`"


def _type(field: Schema, models: Schema, sections: Mapping[str, str]) -> str:
    """The type of a field in words; a model is a link to its section."""
    if "$ref" in field:
        return _reference(_name(field), models, sections)
    for key in ("anyOf", "oneOf"):
        if key in field:
            types = [
                _type(one, models, sections) for one in field[key] if one.get("type") != "null"
            ]
            return ", or ".join(dict.fromkeys(types))
    if "const" in field or "enum" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), models, sections)}"
    if field.get("type") == "object":
        return _mapping(field, models, sections)
    if "examples" in field:
        return f"text such as `{field['examples'][0]}`"
    return {
        "string": "text",
        "integer": "integer",
        "number": "number",
        "boolean": "true or false",
    }.get(field.get("type", ""), "any value")


def _reference(name: str, models: Schema, sections: Mapping[str, str]) -> str:
    heading = sections.get(name)
    if heading is None:
        return _type(models[name], models, sections) if models[name] else "any value"
    # Where there are several kinds, the kind tells them apart.
    return f"[{heading.rpartition(' of kind ')[2]}](#{_anchor(heading)})"


def _mapping(field: Schema, models: Schema, sections: Mapping[str, str]) -> str:
    values = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
    types = [_type(one, models, sections) for one in values if isinstance(one, dict)]
    return f"mapping of names to {', or '.join(types) or 'any value'}"


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
