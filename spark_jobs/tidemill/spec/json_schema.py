"""The JSON Schema of specs, so that editors complete and check them.

`python -m tidemill.spec.json_schema` writes `dags/specs/spec.schema.json`; a test keeps it equal.
"""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from inspect import cleandoc
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tidemill.contract.project import SHIPPED
from tidemill.contract.syntax.quantities import in_words
from tidemill.spec.model import Model
from tidemill.spec.spec import Spec

_ISO_DURATION = re.compile(r"P(?:\d+D)?(?:T[\d.HMS]+)?")
_DURATIONS = TypeAdapter(timedelta)
PATH = SHIPPED / "dags" / "specs" / "spec.schema.json"


_ROW = {"anyOf": [{"type": "object"}, {"type": "null"}]}
# What makes a file a template, read by `each.py` before there is a `Spec`.
_OF_A_TEMPLATE: dict[str, Any] = {
    "each": {
        "description": "The rows that make a pipeline each: a mapping of names to values, a list "
        "of mappings, or a CSV file beside the spec.",
        "anyOf": [
            {"type": "object", "additionalProperties": _ROW},
            {"type": "array", "items": _ROW},
            {"type": "string"},
        ],
    },
    "name": {
        "description": "The pipeline's name, made of values of its row, such as `${country}`; by "
        "default the file's, an underscore and the row's.",
        "type": "string",
    },
    "except": {
        "description": "The rows that differ: `skip`, or the fields that they have otherwise.",
        "type": "object",
        "additionalProperties": {"anyOf": [{"const": "skip"}, {"type": "object"}]},
    },
}


def spec_schema() -> dict[str, Any]:
    schema = _closed(Spec.model_json_schema(by_alias=True, mode="validation"))
    models = {model.__name__: model for model in _models(Model)}
    for name, part in {"Spec": schema, **schema["$defs"]}.items():
        if name in models:
            _describe(part, models[name])
    schema["properties"] = {**_OF_A_TEMPLATE, **schema["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tidemill pipeline spec",
    }


def _closed(schema: Any) -> Any:
    """What pydantic leaves out or says otherwise than a spec is read.

    Keys that fit no pattern are refused, `kind` is never left out where it tells models apart, and
    a default is what people would write: `30 seconds`, where pydantic has `PT30S`.
    """
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if "default" in closed:
        closed["default"] = _as_written(closed["default"])
    kind = closed.get("properties", {}).get("kind", {})
    if "const" in kind:
        kind.pop("default", None)
        closed["required"] = list(dict.fromkeys(["kind", *closed.get("required", [])]))
    return {**closed, "additionalProperties": False} if "patternProperties" in closed else closed


def _as_written(default: Any) -> Any:
    if isinstance(default, dict):
        return {key: _as_written(value) for key, value in default.items()}
    if isinstance(default, list):
        return [_as_written(value) for value in default]
    if isinstance(default, str) and _ISO_DURATION.fullmatch(default):
        return in_words(_DURATIONS.validate_python(default))
    return default


def _models(base: type[Model]) -> Iterator[type[Model]]:
    for model in base.__subclasses__():
        # A test may have models of its own.
        if model.__module__.startswith("tidemill."):
            yield model
        yield from _models(model)


def _describe(schema: dict[str, Any], model: type[Model]) -> None:
    """Give a model's schema, and each property in it, the words of the model's docstring."""
    schema["description"] = cleandoc(model.__doc__ or "").partition("\n\nAttributes:")[0]
    fields = {field.alias or name: name for name, field in model.model_fields.items()}
    for key, part in schema["properties"].items():
        words = _words_on(fields[key], model)
        if words is None and "const" in part:
            words = f"Always `{part['const']}`; it tells this kind from the others."
        if words is not None:
            part["description"] = words


def _words_on(field: str, model: type[Model]) -> str | None:
    """What the docstring of a model, or of one that it inherits from, says of a field."""
    for one in model.__mro__:
        said = cleandoc(one.__doc__ or "").partition("Attributes:\n")[2]
        found = re.search(rf"^    {field}: (.*(?:\n {{8}}.*)*)", said, re.MULTILINE)
        if found:
            return " ".join(found[1].split())
    return None


def write(path: Path = PATH) -> Path:
    path.write_text(json.dumps(spec_schema(), indent=2) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    write()
