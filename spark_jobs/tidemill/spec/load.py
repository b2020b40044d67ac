"""From a YAML file to a `Spec`: two functions, so that the second is tested without files.

Every complaint names the file, the line and the field, and says what to write instead.
"""

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tidemill.contract.errors import SpecError
from tidemill.contract.layout import PIPELINE_NAME
from tidemill.spec.model import Disagreement
from tidemill.spec.spec import Spec
from tidemill.spec.yaml_size import MOST_NODES, first_too_large

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_TEXT_KEYS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "merge", "value"))
Location = tuple[Any, ...]


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
        raise _error(path, 1, None, "is empty or no mapping", "Start from a shipped spec.")
    document = _expand(document, _declared(document), (), lines, path, environ)
    try:
        return Spec.model_validate(document)
    except ValidationError as error:
        raise _translate(error, lines, path) from error


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
        raise _error(
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
                raise _error(path, line, _field(place), "is not text", "Put the key in quotes.")
            if place in lines:
                raise _error(
                    path, key.start_mark.line + 1, _field(place), "is given twice", "Keep one."
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
    return _error(path, line, None, f"is not YAML ({why})", "Fix the syntax.")


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
            raise _error(
                path,
                lines.get(at),
                _field(at),
                f"uses ${{{name}}}, which the spec does not declare",
                f"Add '{name}:' under 'env:', with a default or without.",
            )
        found = environ.get(name, declared[name])
        if found is not None and not isinstance(found, str):
            raise _error(
                path, lines.get(("env", name)), f"env.{name}", "is not text", "Put it in quotes."
            )
        if found is None:
            raise _error(
                path,
                lines.get(at),
                _field(at),
                f"uses ${{{name}}}, which is not set",
                f"Set {name} in the environment, or give it a default under 'env:'.",
            )
        return found

    return _VARIABLE.sub(look_up, value)


def _translate(error: ValidationError, lines: Mapping[Location, int], path: Path) -> SpecError:
    found: dict[tuple[int | None, str], SpecError] = {}
    # A misspelt key comes first: it is why another one is missing.
    for complaint in sorted(error.errors(), key=lambda c: c["type"] != "extra_forbidden"):
        one = _of_pydantic(complaint, lines, path)
        # A value that fits none of several types is one mistake; pydantic says it once per type.
        found.setdefault((one.line, one.field), one)
    first, *rest = found.values()
    first.further = tuple(rest)
    return first


def _of_pydantic(complaint: ErrorDetails, lines: Mapping[Location, int], path: Path) -> SpecError:
    tagged: Location = tuple(part for part in complaint["loc"] if part != "[key]")
    at = _without_tags(tagged, lines)
    why = complaint.get("ctx", {}).get("error")
    if isinstance(why, Disagreement):
        while at and at not in lines:
            at = at[:-1]
        return _error(
            path,
            _line((*at, *why.at), lines),
            _field((*at, *why.at)),
            f"is refused: {why}",
            "Change it, or what it does not go with.",
        )
    if complaint["type"] == "extra_forbidden":
        known = _fields_at(tagged[:-1])
        near = get_close_matches(str(at[-1]), known, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."
        what = "is not a known key"
    elif complaint["type"] == "union_tag_not_found":
        given = complaint["input"] if isinstance(complaint["input"], dict) else {}
        near = get_close_matches("kind", map(str, given), n=1)
        at = (*at, *(near or ["kind"]))
        what = "is not a known key" if near else "is missing"
        remedy = "Did you mean 'kind'?" if near else "Add it."
    elif complaint["type"] == "missing":
        what, remedy = "is missing", "Add it."
    else:
        while at and at not in lines:
            at = at[:-1]
        what = f"is refused: {complaint['msg'].removeprefix('Value error, ')}"
        remedy = "Change the value."
    return _error(path, _line(at, lines), _field(at), what, remedy)


def _line(at: Location, lines: Mapping[Location, int]) -> int | None:
    """The line of a location, or of the nearest part above it that is there."""
    return next((lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in lines), None)


def _without_tags(tagged: Location, lines: Mapping[Location, int]) -> Location:
    """A location as it is in the document: pydantic names the kind of a source or target too."""
    at: Location = ()
    for part in tagged[:-1]:
        if (*at, part) in lines:
            at = (*at, part)
    return (*at, *tagged[-1:])


def _fields_at(tagged: Sequence[Any]) -> list[str]:
    """The keys that the model at a location knows; a part may be the tag of a union."""
    model: Any = Spec
    for part in tagged:
        if _is_model(model):
            by_alias = {field.alias or name: field for name, field in model.model_fields.items()}
            model = by_alias[part].annotation if part in by_alias else None
        elif members := [member for member in get_args(model) if _is_model(member)]:
            if part in [tag for member in members for tag in _tags(member)]:
                model = next(member for member in members if part in _tags(member))
                continue
            model = members[0]
        else:
            items = [arg for arg in get_args(model) if arg not in (type(None), Ellipsis)]
            model = items[-1] if items else None
        model = _without_none(model)
    if _is_model(model):
        return [field.alias or name for name, field in model.model_fields.items()]
    return []


def _is_model(model: Any) -> bool:
    return isinstance(model, type) and issubclass(model, BaseModel)


def _tags(model: Any) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind else ()


def _without_none(model: Any) -> Any:
    """A type without `Annotated` and without `None`, where one other remains."""
    if get_origin(model) is Annotated:
        return _without_none(get_args(model)[0])
    others = [arg for arg in get_args(model) if arg is not type(None)]
    return others[0] if len(others) == 1 < len(get_args(model)) else model


def _field(at: Location) -> str:
    return ".".join(str(part) for part in at)


def _error(path: Path, line: int | None, field: str | None, what: str, remedy: str) -> SpecError:
    place = f"{path}:{line}" if line else str(path)
    return SpecError(
        f"{place}: {field or 'the spec'} {what}" + ("" if what.endswith("?") else "."),
        remedy=remedy,
        path=path,
        line=line,
        field=field,
    )
