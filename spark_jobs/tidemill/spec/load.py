"""From YAML to a `Spec`: two functions, so that the second is tested without files.

Every complaint names the file, the line and the field, and says what to write instead.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidemill.contract.errors import SpecError
from tidemill.spec.complaints import Location, field_name, refusal, translate
from tidemill.spec.each import VARIABLE
from tidemill.spec.effective import Effective, effective, home_of, name_of
from tidemill.spec.origins import Layer, Origin, placed
from tidemill.spec.schema_files.read import SchemaFileWrong, with_schema_files
from tidemill.spec.spec import Spec
from tidemill.spec.yaml_text import parse_yaml


def load_spec(path: Path, environ: Mapping[str, str] = os.environ, name: str | None = None) -> Spec:
    """The effective spec in a file.

    Args:
        path: Within `dags/specs`.
        environ: Where the variables that the spec declares under `env:` are looked up.
        name: The pipeline, where the file is a template of several.

    Raises:
        SpecError: with `path`, `line` (1-based, or None) and `field` of the wrong value, which may
            be in a file of defaults; and its `row` in a template.
    """
    return _validated(effective(path, name or name_of(path), environ), path, environ)


def parse_spec(text: str, *, path: Path, environ: Mapping[str, str]) -> Spec:
    """The spec in a text, without any defaults; `path` is only for messages."""
    found = parse_yaml(text, path)
    if not isinstance(found.document, dict):
        raise refusal(path, 1, None, "is empty or no mapping", "Start from a shipped spec.")
    layer = Layer.of(found.document, found.lines, path)
    return _validated(Effective(layer.values, layer.origins, None), path, environ)


def _validated(found: Effective, path: Path, environ: Mapping[str, str]) -> Spec:
    # Places are numbered, for complaints know lines of one file only.
    numbered: list[Origin] = list(found.origins.values())
    lines = dict(zip(found.origins, range(1, len(numbered) + 1), strict=True))
    try:
        document = _expand(found.values, _declared(found.values), (), lines, path, environ)

        def refuse(at: Location, what: str, remedy: str) -> SpecError:
            return refusal(path, lines.get(at), field_name(at), what, remedy)

        document = with_schema_files(document, home_of(path) or path.parent, refuse)
        try:
            return Spec.model_validate(document)
        except ValidationError as error:
            raise translate(error, lines, path) from error
    except SchemaFileWrong:
        raise
    except SpecError as error:
        raise placed(error, numbered, path, found.row) from error.__cause__


def _declared(document: Mapping[str, Any]) -> Mapping[str, str | None]:
    declared = document.get("env")
    return declared if isinstance(declared, dict) else {}


def _expand(
    value: Any,
    declared: Mapping[str, str | None],
    at: Location,
    lines: Mapping[Location, int],
    path: Path,
    environ: Mapping[str, str],
) -> Any:
    """Replace `${NAME}` by the environment's value, for names the spec declares and no others."""
    if isinstance(value, dict) and at != ("env",):
        return {
            key: _expand(item, declared, (*at, key), lines, path, environ)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            _expand(item, declared, (*at, number), lines, path, environ)
            for number, item in enumerate(value)
        ]
    if not isinstance(value, str):
        return value

    def look_up(match: re.Match[str]) -> str:
        name = match[1]
        if name not in declared:
            raise refusal(
                path,
                lines.get(at),
                field_name(at),
                f"uses ${{{name}}}, which the spec does not declare",
                f"Add '{name}:' under 'env:', with a default or without.",
            )
        found = environ.get(name, declared[name])
        if found is not None and not isinstance(found, str):
            raise refusal(
                path, lines.get(("env", name)), f"env.{name}", "is not text", "Put it in quotes."
            )
        if found is None:
            raise refusal(
                path,
                lines.get(at),
                field_name(at),
                f"uses ${{{name}}}, which is not set",
                f"Set {name} in the environment, or give it a default under 'env:'.",
            )
        return found

    return VARIABLE.sub(look_up, value)
