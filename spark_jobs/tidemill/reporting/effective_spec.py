"""The effective spec: every setting with its value, and the line that gave it."""

import json
from collections.abc import Iterator
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.spec.effective import effective
from tidemill.spec.origins import Origin
from tidemill.spec.pipeline import Pipeline

Location = tuple[str | int, ...]


class Setting(FrozenModel):
    """One setting.

    Attributes:
        field: Such as `output.mode`.
        value: As text; what the environment gives stays as the spec names it, `${NAME}`.
        line: The line that gave it, from 1; None for a default of Tidemill's.
        file: The file of the line, where it is not the spec's.
    """

    field: str
    value: str
    line: int | None
    file: str | None = None


def effective_spec(pipeline: Pipeline) -> tuple[Setting, ...]:
    """Every setting of a pipeline, defaults included, in the order of the spec's fields.

    Raises:
        SpecError: its spec cannot be read as YAML any more.
    """
    found = effective(pipeline.spec_file, pipeline.name)
    origins, written = found.origins, found.values
    values = pipeline.spec.model_dump(mode="json", by_alias=True)
    return tuple(
        Setting(
            field=".".join(map(str, at)),
            value=_text(at, value, written),
            **_place(origins.get(at), pipeline),
        )
        for at, value in _leaves(values, ())
    )


def _place(origin: Origin | None, pipeline: Pipeline) -> dict[str, Any]:
    if origin is None:
        return {"line": None}
    own = origin.path == pipeline.spec_file
    return {"line": origin.line, "file": None if own else origin.path.name}


def _leaves(value: Any, at: Location) -> Iterator[tuple[Location, Any]]:
    """The values below the keys, each with its place; a list of plain values is one value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*at, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from _leaves(item, (*at, number))
    else:
        yield at, value


def _text(at: Location, value: Any, written: Any) -> str:
    """A value as text, as the spec has it where the environment has a part in it."""
    for key in at:
        inner = isinstance(written, dict) or (isinstance(written, list) and isinstance(key, int))
        try:
            written = written[key] if inner else None
        except (KeyError, IndexError):
            written = None
    if isinstance(written, str) and "${" in written:
        return written
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
