"""Increments: sealed runs of batches, the verdicts on them, and what a person decided.

A sealed set is never re-cut, so a held increment is never diluted by later good data and what goes
out is exactly what was judged. `increments/000003/` holds `sealed.json`, one numbered verdict per
judgement, and `release.json` or `rejection.json` where a person decided; in modes `update` and
`complete` also the net payload that `sealed.json` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.increments.records import (
    NetFile,
    Rejection,
    Release,
    Sealed,
    Verdict,
    hash_of_files,
)
from tidemill.journal.journal import Journal
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.journal.takeovers import Takeover, read_takeovers
from tidemill.storage import documents
from tidemill.storage.documents import AlreadyWritten

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


class State(StrEnum):
    """The state of an increment before it is in the journal."""

    SEALED = "sealed"
    PASSED = "passed"
    HELD = "held"
    RELEASED = "released"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Increment:
    """A sealed set with all that was said about it since.

    Args:
        superseded: Whether another has taken its place.
    """

    sealed: Sealed
    verdicts: tuple[Verdict, ...]
    release: Release | None
    rejection: Rejection | None = None
    superseded: bool = False

    @property
    def number(self) -> int:
        return self.sealed.increment

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that counts: the last under the newest lease.

        A judge that was paused and lost the lease may write its verdict after a newer one.
        """
        return sorted(self.verdicts, key=lambda one: one.epoch)[-1] if self.verdicts else None

    @property
    def state(self) -> State:
        if self.superseded:
            return State.SUPERSEDED
        if self.rejection is not None:
            return State.REJECTED
        if self.release is not None:
            return State.RELEASED
        if self.verdict is None:
            return State.SEALED
        return State.PASSED if self.verdict.outcome == "passed" else State.HELD

    @property
    def may_go_out(self) -> bool:
        """Whether an event of it may stand in the journal; of a rejected one, that nothing is."""
        return self.state in (State.PASSED, State.RELEASED, State.REJECTED)


class Increments:
    """The increments of one pipeline.

    Args:
        folder: `Layout.increments`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = (entry.name for entry in self.folder.iterdir())
        return sorted(int(n) for n in names if n.isdecimal() and self._sealed(int(n)).exists())

    def all(self) -> list[Increment]:
        """Every one, in the order of their numbers."""
        sealed = [documents.read(self._sealed(number), Sealed) for number in self.numbers()]
        found = [one for one in sealed if one is not None]
        superseded = self._superseded(found)
        return [self._increment(one, superseded) for one in found]

    def in_order(self) -> list[Increment]:
        """The increments that go out in the order of batches, without superseded ones.

        What belongs to a generation that is not live yet, or never will be, is not among them.
        """
        born = [takeover.generation for takeover in read_takeovers(self.folder.parent)]
        live = {FIRST_GENERATION, *born}
        found = [
            one
            for one in self.all()
            if one.sealed.in_order and not one.superseded and one.sealed.covers.generation in live
        ]
        return sorted(
            found,
            key=lambda one: (
                _rank(one.sealed.covers.generation, born),
                one.sealed.covers.first,
            ),
        )

    def get(self, number: int) -> Increment:
        """One increment.

        Raises:
            UsageError: there is none of that number.
        """
        sealed = documents.read(self._sealed(number), Sealed)
        if sealed is None:
            raise UsageError(
                f"There is no increment {number:06d} in {self.folder}.",
                remedy="`tidemill status NAME` lists them.",
                increment=number,
            )
        later = (documents.read(self._sealed(n), Sealed) for n in self.numbers() if n > number)
        found = (one for one in (sealed, *later) if one is not None)
        return self._increment(sealed, self._superseded(found))

    def last_sealed(self, generation: str) -> int:
        """The last batch of a generation that some increment stands for; -1 where there is none.

        Batches of a fork before its own need no increment.
        """
        places = [increment.sealed.covers for increment in self.all()]
        lasts = [place.last for place in places if place.generation == generation]
        born = read_takeovers(self.folder.parent)
        before = [takeover.first - 1 for takeover in born if takeover.generation == generation]
        return max((*lasts, *before), default=-1)

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
        """Write down what a person decided.

        Raises:
            AlreadyWritten: a decision was written down before.
        """
        name = "release.json" if isinstance(decision, Release) else "rejection.json"
        documents.put(self.folder_of(decision.increment) / name, decision)

    def folder_of(self, number: int) -> Path:
        """The folder of an increment."""
        return self.folder / f"{number:06d}"

    def _sealed(self, number: int) -> Path:
        return self.folder_of(number) / "sealed.json"

    def _superseded(self, sealed: Iterable[Sealed]) -> frozenset[int]:
        """The numbers of those that others have taken the place of.

        Between a redo and what it was to take the place of, what consumers have seen decides.
        """
        born = read_takeovers(self.folder.parent)
        found = {number for takeover in born for number in takeover.supersedes}
        for one in sealed:
            if one.in_order and any(_goes_on_without(takeover, one.covers) for takeover in born):
                found.add(one.increment)
            if one.recomputation is not None and one.recomputation.supersedes:
                late = one.recomputation.in_order and self._too_late(one, one.recomputation)
                found.update([one.increment] if late else one.recomputation.supersedes)
        return frozenset(found)

    def _too_late(self, redo: Sealed, recomputation: Recomputation) -> bool:
        """Whether part of what a redo was to take the place of was published before it."""
        journal = Journal(self.folder.parent / "journal")
        # What was there when it was computed is not one of that.
        for event in journal.following(recomputation.seq):
            if event.increment == redo.increment:
                return False
            if event.increment in recomputation.supersedes and journal.is_published(event.seq):
                return True
        return False

    def _increment(self, sealed: Sealed, superseded: frozenset[int]) -> Increment:
        folder = self.folder_of(sealed.increment)
        verdicts = (documents.read(path, Verdict) for _, path in documents.numbered(folder))
        return Increment(
            sealed,
            tuple(verdict for verdict in verdicts if verdict is not None),
            documents.read(folder / "release.json", Release),
            documents.read(folder / "rejection.json", Rejection),
            sealed.increment in superseded,
        )


def _goes_on_without(takeover: Takeover, place: BatchRange) -> bool:
    """Whether a fork has left batches behind, whoever sealed them and when."""
    return (
        takeover.kind == "fork"
        and place.generation == takeover.predecessor
        and place.last >= takeover.first
    )


def _rank(generation: str, born: Sequence[str]) -> int:
    """The place of a generation among those that took over; of the first -1."""
    return born.index(generation) if generation in born else -1
