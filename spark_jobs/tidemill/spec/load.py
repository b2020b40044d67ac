"""From a YAML file to a `Spec`: two functions, so that the second is tested without files.

Every complaint names the file, the line and the field, and says what to write instead.
"""

import os
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tidemill.contract.errors import SpecError
from tidemill.contract.layout import PIPELINE_NAME
from tidemill.spec.complaints import Location, field_name, refusal, translate
from tidemill.spec.spec import Spec
from tidemill.spec.yaml_size import MOST_NODES, first_too_large

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_TEXT_KEYS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "merge", "value"))


def load_spec(path: Path, environ: Mapping[str, str] = os.environ) -> Spec:
    """The spec in a file.

    Args:
        path: `<pipeline>.yaml`.
        environ: Where the variables that the spec declares under `env:` are looked up.

    Raises:
        SpecError: with `path`, `line` (1-based, or None) and `field`.
    """
    if not PIPELINE_NAME.fullmatch(path.stem):
        raise SpecError(
            f"{path}: a spec's file has the pipeline's name, and '{path.stem}' cannot be one.",
            remedy="Use a lower-case letter, then letters, digits and underscores.",
            path=path,
            line=None,
            field=None,
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"{path}: cannot be read ({error}).",
            remedy="Check the file and its permissions.",
            path=path,
            line=None,
            field=None,
        ) from error
    return parse_spec(text, path=path, environ=environ)


def parse_spec(text: str, *, path: Path, environ: Mapping[str, str]) -> Spec:
    """The spec in a text; `path` is only for messages."""
    lines = lines_of(text, path)
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_yaml(error, path) from error
    if not isinstance(document, dict):
        raise refusal(path, 1, None, "is empty or no mapping", "Start from a shipped spec.")
    document = _expand(document, _declared(document), (), lines, path, environ)
    try:
        return Spec.model_validate(document)
    except ValidationError as error:
        raise translate(error, lines, path) from error


def lines_of(text: str, path: Path) -> dict[Location, int]:
    """Location in the document, such as `("output", "mode")`, -> 1-based line.

    Raises:
        SpecError: the text is not YAML, its aliases spell out to too much, or a key is given twice
            or is not text.
    """
    lines: dict[Location, int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None:
            _refuse_too_large(node, path)
            _index(node, (), lines, path)
    except (yaml.YAMLError, RecursionError) as error:
        raise _not_yaml(error, path) from error
    return lines


def _refuse_too_large(root: yaml.Node, path: Path) -> None:
    node = first_too_large(root)
    if node is not None:
        raise refusal(
            path,
            node.start_mark.line + 1,
            None,
            f"spells out to more than {MOST_NODES:,} values here, its aliases (*name) included",
            "Write the values out, or use fewer aliases of aliases.",
        )


def _index(node: yaml.Node, at: Location, lines: dict[Location, int], path: Path) -> None:
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*at, key.value if isinstance(key.value, str) else "?")
            if key.tag not in _TEXT_KEYS:
                line = key.start_mark.line + 1
                # YAML takes `on`, `no` and `1` for a truth value or a number.
                raise refusal(
                    path, line, field_name(place), "is not text", "Put the key in quotes."
                )
            if place in lines:
                raise refusal(
                    path, key.start_mark.line + 1, field_name(place), "is given twice", "Keep one."
                )
            _index(value, place, lines, path)
            lines[place] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _index(item, (*at, number), lines, path)


def _not_yaml(error: Exception, path: Path) -> SpecError:
    """The YAML reader's error; wrong dates and deep nesting do not raise a YAMLError."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else None
    why = getattr(error, "problem", None) or str(error).split("\n")[0]
    return refusal(path, line, None, f"is not YAML ({why})", "Fix the syntax.")


def _declared(document: Mapping[Hashable, Any]) -> Mapping[str, str | None]:
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

    return _VARIABLE.sub(look_up, value)
