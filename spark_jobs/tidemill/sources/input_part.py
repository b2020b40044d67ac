"""A part of the published input: whole files, and ranges of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidemill.contract.counted import counted
from tidemill.ledger.input_file import InputFile
from tidemill.spark_logs.offset_ranges import Range

# Files of a kind that a report names; the number counts all.
NAMED = 10


@dataclass(frozen=True)
class InputPart:
    """A part of the published input of one source or of several.

    Args:
        files: Whole ones.
        ranges: Kafka source -> records.
        compacted: Kafka sources of which the broker may have dropped records anywhere.
    """

    files: tuple[InputFile, ...] = ()
    ranges: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    compacted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.ranges or self.compacted)

    def __str__(self) -> str:
        said = []
        if self.files:
            said.append(f"{counted(len(self.files), 'file')} ({self.files[0].path} …)")
        said += [f"{one} of {name}" for name, ranges in self.ranges.items() for one in ranges[:3]]
        return "; ".join([*said, *(f"whatever was compacted of {name}" for name in self.compacted)])

    @property
    def by_source(self) -> dict[str, InputPart]:
        """Source -> what of it is its own."""
        names = dict.fromkeys([*(file.source for file in self.files), *self.ranges])
        return {
            name: InputPart(
                tuple(file for file in self.files if file.source == name),
                {name: self.ranges[name]} if name in self.ranges else {},
            )
            for name in names
        }

    def __add__(self, other: InputPart) -> InputPart:
        ranges = {**self.ranges, **other.ranges}
        return InputPart(self.files + other.files, ranges, self.compacted + other.compacted)

    def without(self, other: InputPart) -> InputPart:
        """What is left of it without a part of it; of a range that is its beginning."""
        files = {identity(file) for file in other.files}
        left: dict[str, tuple[Range, ...]] = {}
        for name, ranges in self.ranges.items():
            gone = {
                (one.topic, one.partition, one.first): one.until
                for one in other.ranges.get(name, ())
            }
            begins = [gone.get((one.topic, one.partition, one.first), one.first) for one in ranges]
            rest = (
                one.model_copy(update={"first": begin})
                for one, begin in zip(ranges, begins, strict=True)
                if begin < one.until
            )
            if found := tuple(rest):
                left[name] = found
        return InputPart(tuple(file for file in self.files if identity(file) not in files), left)

    def as_dict(self) -> dict[str, Any]:
        """For a report's facts."""
        return {
            "files": len(self.files),
            "named": [file.path for file in self.files[:NAMED]],
            "ranges": {name: [str(one) for one in ranges] for name, ranges in self.ranges.items()},
            "compacted": list(self.compacted),
        }


def identity(file: InputFile) -> tuple[str, str, int | None, int]:
    """What tells a file from another that takes its place."""
    return file.source, file.path, file.size, file.modified_ms
