"""An index of the input files that a ledger's batches have read, looked up by path or by size.

It consists of segments (`ledger.input_segment`), each of which is about the batches after those of
the one before. All that is in it is in the batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from tidemill.ledger.input_file import InputFile
from tidemill.ledger.input_segment import InputSegment, Placed


class InputIndex:
    """The segments as one: a path keeps its first place, and has what the last reading found.

    Args:
        segments: The oldest first.
    """

    def __init__(self, segments: Sequence[InputSegment]) -> None:
        self.segments = segments

    def at(self, source: str, path: str) -> InputFile | None:
        """What was read from a path; None where nothing was."""
        found = self._at(source, path)
        return None if found is None else found[1]

    def _at(self, source: str, path: str) -> Placed | None:
        looks = (segment.at(source, path) for segment in reversed(self.segments))
        return next((found for found in looks if found is not None), None)

    def contents(self, source: str, size: int) -> dict[str, str]:
        """Hash of a content of some size -> the path from which it was read first."""
        rows = [
            row
            for number, segment in enumerate(self.segments)
            for row in segment.contents(source, size)
            if self._newest.get(row[0], number) == number
        ]
        found: dict[str, str] = {}
        for _, sha256, path in sorted(rows):
            found.setdefault(sha256, path)
        return found

    def folders(self, source: str) -> set[Path]:
        """The folders of the files that were read."""
        return {folder for segment in self.segments for folder in segment.folders(source)}

    @property
    def last_place(self) -> int:
        """The greatest place of a path, 0 where none has one."""
        return max((segment.last_place for segment in self.segments), default=0)

    def placed(self, files: Iterable[InputFile]) -> list[Placed]:
        """Files that were read since then, each with its path's place, old or new.

        Args:
            files: In the order of their first reading; no two of one path.
        """
        last, found = self.last_place, []
        for file in files:
            before = self._at(file.source, file.path)
            last += before is None
            found.append((last if before is None else before[0], file))
        return found

    @cached_property
    def _newest(self) -> dict[int, int]:
        """Place of a path that is in several segments -> the number of the newest of them."""
        found: dict[int, int] = {}
        last = 0
        for number, segment in enumerate(self.segments):
            found.update(dict.fromkeys(segment.places(last), number))
            last = max(last, segment.last_place)
        return found
