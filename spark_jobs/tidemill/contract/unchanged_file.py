"""What was found in a file, kept in this process for as long as the file stays the same."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from tidemill.contract.clock import Clock, wall_clock

Found = TypeVar("Found")
# A file that was changed so few seconds ago may change again without another time of change.
SETTLED_SECONDS = 2.0
MOST_FINDINGS = 100_000
_State = tuple[str, Path, int, int, int, int, int]


@dataclass(frozen=True)
class Findings(Generic[Found]):
    """What was found in files.

    A step looks into a file that has arrived, and again into the one that Spark has read.
    """

    clock: Clock = wall_clock
    _kept: dict[_State, Found] = field(default_factory=dict)

    def of(self, path: Path, asked: str, find: Callable[[], Found]) -> Found:
        """What was found in a file, or is found now.

        Args:
            path: The file.
            asked: What is looked for in it.
            find: Looks into the file. What it raises is not kept.

        Raises:
            FileNotFoundError: the file is gone.
        """
        status = path.stat()
        if self.clock().timestamp() - status.st_ctime < SETTLED_SECONDS:
            return find()
        state = (
            asked,
            path,
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        if state in self._kept:
            return self._kept[state]
        found = find()
        if len(self._kept) < MOST_FINDINGS:
            self._kept[state] = found
        return found
