"""Where each value of a spec comes from, where several files have a part in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.contract.errors import SpecError
from tidemill.spec.complaints import Location


@dataclass(frozen=True)
class Origin:
    """The line of a file that gave a value.

    Args:
        line: 1-based; None for the file as a whole.
        row: The row of `each` for which it holds; None where there are no rows.
    """

    path: Path
    line: int | None
    row: str | None = None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place} (row {self.row})" if self.row else place


@dataclass(frozen=True)
class Layer:
    """A part of a spec that one file gives.

    Args:
        values: The part.
        origins: The origin of each of its locations.
    """

    values: Mapping[str, Any]
    origins: Mapping[Location, Origin]

    @classmethod
    def of(
        cls,
        values: Mapping[str, Any],
        lines: Mapping[Location, int],
        path: Path,
        below: Location = (),
        row: str | None = None,
    ) -> "Layer":
        """The layer that stands below a location of a file."""
        depth = len(below)
        return cls(
            values,
            {
                at[depth:]: Origin(path, line, row)
                for at, line in lines.items()
                if at[:depth] == below
            },
        )


def laid_over(layers: Iterable[Layer]) -> Layer:
    """Layers as one: mappings are merged, and of lists and single values the last one counts."""
    values: dict[str, Any] = {}
    origins: dict[Location, Origin] = {}
    for layer in layers:
        _lay(values, layer.values, (), origins, layer.origins)
        if () in layer.origins:
            origins[()] = layer.origins[()]
    return Layer(values, origins)


def _lay(
    under: dict[str, Any],
    over: Mapping[str, Any],
    at: Location,
    origins: dict[Location, Origin],
    news: Mapping[Location, Origin],
) -> None:
    for key, value in over.items():
        place = (*at, key)
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            under[key] = dict(under[key])
            if place in news:
                origins[place] = news[place]
            _lay(under[key], value, place, origins, news)
            continue
        depth = len(place)
        if key in under:
            for old in [one for one in origins if one[:depth] == place]:
                del origins[old]
        under[key] = value
        origins.update({one: news[one] for one in news if one[:depth] == place})


def placed(error: SpecError, numbered: list[Origin], path: Path, row: str | None) -> SpecError:
    """An error about numbered places, at the places that the numbers stand for.

    Args:
        error: Its `line` is a position in `numbered`, from 1.
        path: The file that the error names.
        row: The row of `each` that was read.
    """
    moved = _moved(error, numbered, path, row)
    moved.further = tuple(_moved(one, numbered, path, row) for one in error.further)
    return moved


def _moved(error: SpecError, numbered: list[Origin], path: Path, row: str | None) -> SpecError:
    origin = numbered[error.line - 1] if error.line else Origin(path, None)
    was = f"{path}:{error.line}: " if error.line else f"{path}: "
    place = f"{origin.path}:{origin.line}" if origin.line else str(origin.path)
    told = f"row {row} of each: " if row else ""
    return SpecError(
        f"{place}: {told}{error.what.removeprefix(was)}",
        remedy=error.remedy,
        **{**error.data, "path": origin.path, "line": origin.line, "row": row},
    )
