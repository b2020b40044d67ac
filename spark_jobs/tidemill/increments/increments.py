"""The folder of a pipeline's increments: sealed sets of batches, verdicts and decisions.

A sealed set is never cut again, so later good data never dilutes a held increment, and what is
published is exactly what was judged. `increments/000003/` holds `sealed.json`, one numbered verdict
per judgement, `release.json` or `rejection.json` where a person decided, and in modes `update` and
`complete` the net payload that `sealed.json` names.
"""

from contextlib import suppress
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.increments.increment import Increment, State
from tidemill.increments.records import (
    NetFile,
    Rejection,
    Release,
    Sealed,
    Verdict,
    hash_of_files,
)
from tidemill.storage import documents
from tidemill.storage.documents import AlreadyWritten
from tidemill.storage.folders import names_in

__all__ = [
    "Increment",
    "Increments",
    "NetFile",
    "Rejection",
    "Release",
    "Sealed",
    "State",
    "Verdict",
    "hash_of_files",
]


class Increments:
    """The documents of a pipeline's increments.

    What became of an increment also depends on the journal: `snapshot.Snapshot` knows both.

    Args:
        folder: `Layout.increments`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        """The numbers of all increments, in order."""
        names = names_in(self.folder) if self.folder.is_dir() else []
        return sorted(int(n) for n in names if n.isdecimal() and self.is_sealed(int(n)))

    def next_number(self) -> int:
        """The number of the next increment."""
        return max(self.numbers(), default=0) + 1

    def is_sealed(self, number: int) -> bool:
        """Whether there is an increment of a number."""
        return self._sealed(number).exists()

    def sealed(self, number: int) -> Sealed:
        """The sealed set of an increment.

        Raises:
            UsageError: there is no increment of that number.
        """
        sealed = documents.read(self._sealed(number), Sealed)
        if sealed is None:
            raise self.missing(number)
        return sealed

    def missing(self, number: int) -> UsageError:
        """The error for an increment that does not exist."""
        return UsageError(
            f"There is no increment {number:06d} in {self.folder}.",
            remedy=f"`tidemill status {self.folder.parent.name}` lists them.",
            increment=number,
        )

    def read(self, sealed: Sealed, *, superseded: bool) -> Increment:
        """A sealed set with its verdicts and the decision of a person."""
        folder = self.folder_of(sealed.increment)
        verdicts = (documents.read(path, Verdict) for _, path in documents.numbered(folder))
        return Increment(
            sealed,
            tuple(verdict for verdict in verdicts if verdict is not None),
            documents.read(folder / "release.json", Release),
            documents.read(folder / "rejection.json", Rejection),
            superseded,
        )

    def seal(self, sealed: Sealed) -> None:
        """Add an increment.

        Raises:
            AlreadyWritten: another writer has taken its number.
        """
        documents.put(self._sealed(sealed.increment), sealed)

    def judge(self, verdict: Verdict) -> int:
        """Add a verdict; its number within the increment is returned."""
        folder = self._sealed(verdict.increment).parent
        number = max((n for n, _ in documents.numbered(folder)), default=0)
        while True:
            number += 1
            with suppress(AlreadyWritten):
                documents.put(folder / f"{number:03d}.json", verdict)
                return number

    def decide(self, decision: Release | Rejection) -> None:
        """Record the decision of a person.

        Raises:
            AlreadyWritten: a decision is recorded already.
        """
        name = "release.json" if isinstance(decision, Release) else "rejection.json"
        documents.put(self.folder_of(decision.increment) / name, decision)

    def folder_of(self, number: int) -> Path:
        """The folder of one increment."""
        return self.folder / f"{number:06d}"

    def _sealed(self, number: int) -> Path:
        return self.folder_of(number) / "sealed.json"
