"""From pydantic's complaints about a spec to ours: file, line, field, and what to write instead."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tidemill.contract.errors import SpecError
from tidemill.spec.model import Disagreement
from tidemill.spec.spec import Spec
from tidemill.spec.value_sentences import (
    expected_kind,
    not_one_of,
    of_another_kind,
    own_words,
    sentence,
)

# The keys and list positions from a document's root to a value, such as ("output", "mode").
Location = tuple[Any, ...]


def translate(error: ValidationError, lines: Mapping[Location, int], path: Path) -> SpecError:
    """A spec's first mistake as an error; the others are in its `further`.

    Args:
        error: What pydantic found.
        lines: The line of each location in the document.
        path: The spec's file.
    """
    found: dict[tuple[int | None, str], list[tuple[SpecError, ErrorDetails]]] = {}
    # A misspelt key comes first: it is why another one is missing.
    for complaint in sorted(_causes(error), key=lambda c: c["type"] != "extra_forbidden"):
        one = _of_pydantic(complaint, lines, path)
        found.setdefault((one.line, one.field), []).append((one, complaint))
    # A value that fits none of several types is one mistake; pydantic says it once per type.
    first, *rest = (_as_one(path, same) for same in found.values())
    first.further = tuple(rest)
    return first


def _causes(error: ValidationError) -> list[ErrorDetails]:
    """The complaints without those about a list that is too short since its items are refused."""
    every = error.errors()
    inner = {complaint["loc"][:-1] for complaint in every}
    return [
        one
        for one in every
        if one["type"] != "too_short"
        or not any(loc[: len(one["loc"])] == one["loc"] for loc in inner if one["loc"])
        or all(other["loc"][: len(one["loc"])] != one["loc"] for other in every if other is not one)
    ]


def _as_one(path: Path, same: Sequence[tuple[SpecError, ErrorDetails]]) -> SpecError:
    first, complaint = same[0]
    kinds = [kind for _, other in same if (kind := expected_kind(other)) is not None]
    if len(kinds) < len(same):
        # One type takes such a value, and has more to say of it.
        return next(one for one, other in same if expected_kind(other) is None)
    return refusal(path, first.line, first.field, *of_another_kind(complaint["input"], kinds))


def _of_pydantic(complaint: ErrorDetails, lines: Mapping[Location, int], path: Path) -> SpecError:
    tagged: Location = tuple(part for part in complaint["loc"] if part != "[key]")
    at = _without_tags(tagged, lines)
    why = complaint.get("ctx", {}).get("error")
    if isinstance(why, Disagreement):
        while at and at not in lines:
            at = at[:-1]
        at = (*at, *why.at)
        what, remedy = own_words(str(why), None)
        if remedy == "Change the value.":
            remedy = "Change it, or what it does not agree with."
        return refusal(path, _line(at, lines), field_name(at), what, remedy)
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
    elif complaint["type"] == "union_tag_invalid":
        context = complaint["ctx"]
        at = (*at, "kind")
        known = re.findall(r"'([^']*)'", context["expected_tags"])
        what, remedy = not_one_of(context["tag"], known)
    else:
        while at and at not in lines:
            at = at[:-1]
        what, remedy = sentence(complaint)
    return refusal(path, _line(at, lines), field_name(at), what, remedy)


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


def field_name(at: Location) -> str:
    """A location as messages write it, such as `output.mode`."""
    return ".".join(str(part) for part in at)


def refusal(path: Path, line: int | None, field: str | None, what: str, remedy: str) -> SpecError:
    """A mistake in a spec as an error.

    Args:
        path: The spec's file.
        line: Where in it, 1-based.
        field: The field, or None if the file as a whole is meant.
        what: The rest of a sentence that begins with the field.
        remedy: What to write instead.
    """
    place = f"{path}:{line}" if line else str(path)
    return SpecError(
        f"{place}: {field or 'the spec'} {what}" + ("" if what.endswith("?") else "."),
        remedy=remedy,
        path=path,
        line=line,
        field=field,
    )
