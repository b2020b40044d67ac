"""An effective spec as YAML, with the origin of each line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tidemill.spec.complaints import Location, field_name
from tidemill.spec.effective import Effective
from tidemill.spec.origins import Origin

INDENT = "  "
# Values stay on the line of their origin.
_WIDE = 1_000_000


@dataclass(frozen=True)
class RenderedLine:
    """A line of an effective spec.

    Args:
        field: What stands on it, such as `output.mode`.
        text: The line.
        origin: The file and line that gave its value.
    """

    field: str
    text: str
    origin: Origin


def rendered(found: Effective) -> Iterator[RenderedLine]:
    """The lines of an effective spec; variables of the environment stay names."""
    yield from _mapping(found.values, (), found.origins)


def _mapping(
    values: Mapping[str, Any], at: Location, origins: Mapping[Location, Origin]
) -> Iterator[RenderedLine]:
    for key, value in values.items():
        place = (*at, key)
        if isinstance(value, dict) and value:
            yield _line(f"{_dumped(key)}:", place, origins, len(at))
            yield from _mapping(value, place, origins)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            yield _line(f"{_dumped(key)}:", place, origins, len(at))
            for number, item in enumerate(value):
                yield _line(f"- {_dumped(item)}", (*place, number), origins, len(place))
        else:
            yield _line(_dumped({key: value})[1:-1], place, origins, len(at))


def _line(text: str, at: Location, origins: Mapping[Location, Origin], depth: int) -> RenderedLine:
    # A value that a variable brought in stands where the variable does.
    nearest = next(origins[at[:end]] for end in range(len(at), -1, -1) if at[:end] in origins)
    return RenderedLine(field_name(at), f"{INDENT * depth}{text}", nearest)


def _dumped(value: Any) -> str:
    """A value on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, width=_WIDE, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()
