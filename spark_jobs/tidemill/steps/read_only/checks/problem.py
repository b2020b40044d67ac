"""A mistake that `check` found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tidemill.spec.complaints import Location
from tidemill.spec.origins import Origin


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Args:
        file: Where.
        line: 1-based; None where it is the whole file.
        what: One sentence.
        remedy: What to do about it.
        warning: Whether it may be meant so: somebody has to look, and nothing is refused.
    """

    file: Path
    line: int | None
    what: str
    remedy: str
    warning: bool = False

    @classmethod
    def said(cls, file: Path, line: int | None, what: str, remedy: str) -> Problem:
        """A problem from an error's sentence, which names file and line itself."""
        for place in (f"{file}:{line}: ", f"{file}: ", f"{file} "):
            what = what.removeprefix(place)
        return cls(file, line, what.removesuffix("."), remedy)


@dataclass(frozen=True)
class Places:
    """Where the values of one pipeline's spec come from.

    Args:
        file: The spec.
        origins: The origin of each location that a file gives.
    """

    file: Path
    origins: Mapping[Location, Origin]

    def problem(self, at: Location, what: str, remedy: str) -> Problem:
        """A problem with a value, at the line that gave it or the nearest part above it."""
        above = (self.origins.get(at[:end]) for end in range(len(at), 0, -1))
        origin = next((one for one in above if one is not None), None)
        if origin is None:
            return Problem(self.file, None, what, remedy)
        told = f"row {origin.row} of each: {what}" if origin.row else what
        return Problem(origin.path, origin.line, told, remedy)


def line_of(text: str, word: str) -> int | None:
    """The first line of a text with a word; None where there is none."""
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if whole.search(line)), None)


def write_or_rename(path: Path, none: str, means: str) -> str:
    """What to do about a missing file; one that another pipeline's name stands for is not meant."""
    taken = {spec.stem for spec in (path.parents[2] / "dags" / "specs").glob("*.yaml")}
    siblings = [one for one in path.parent.glob(f"*{path.suffix}") if one.stem not in taken]
    near = get_close_matches(path.name, [one.name for one in siblings], n=1)
    return (
        f"Did you mean to name it so: {near[0]}?"
        if near
        else (f"Write it, or say in the spec {none}, which {means}.")
    )
