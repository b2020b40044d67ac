"""Increments: sealed runs of batches, the verdicts on them, and what a person decided.

A sealed set is never re-cut, so a held increment is never diluted by later good data and what goes
out is exactly what was judged. `increments/000003/` holds `sealed.json`, one numbered verdict per
judgement, and `release.json` where a person released it; in modes `update` and `complete` also the
net payload that `sealed.json` names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.contract.errors import UsageError
from spark_jobs.ledger import documents
from spark_jobs.ledger.batches import Batch


class State(StrEnum):
    """Where an increment stands before it is in the journal."""

    SEALED = "sealed"
    PASSED = "passed"
    HELD = "held"
    RELEASED = "released"


class NetFile(BaseModel):
    """A file of a net payload.

    Attributes:
        path: Relative to the increment's folder.
        size: In bytes.
        rows: In it.
        uncompressed_bytes: Of all its row groups.
        sha256: Of its content.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int
    rows: int
    uncompressed_bytes: int
    sha256: str


class Sealed(BaseModel):
    """The set: every file of batches `first` to `last` of one generation.

    Attributes:
        rows: That become visible if it goes out.
        net: In modes `update` and `complete` the files that these rows were merged into; None in
            mode `append`, where they are the sink's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    increment: int
    generation: str
    first: int
    last: int
    files: int
    files_hash: str
    rows: int
    rejected: int
    net: tuple[NetFile, ...] | None = None
    run_id: str
    sealed: datetime


class Verdict(BaseModel):
    """One judgement of one sealed set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    increment: int
    outcome: Literal["passed", "held"]
    files_hash: str
    suite_hash: str
    gate_hash: str
    engine: str
    why: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    judgement: dict[str, Any] = {}
    run_id: str
    judged: datetime


class Release(BaseModel):
    """A person's decision to publish in spite of a verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    increment: int
    files_hash: str
    by: str
    reason: str
    released: datetime


@dataclass(frozen=True)
class Increment:
    """A sealed set with all that was said about it since."""

    sealed: Sealed
    verdicts: tuple[Verdict, ...]
    release: Release | None

    @property
    def number(self) -> int:
        return self.sealed.increment

    @property
    def verdict(self) -> Verdict | None:
        return self.verdicts[-1] if self.verdicts else None

    @property
    def state(self) -> State:
        if self.release is not None:
            return State.RELEASED
        if self.verdict is None:
            return State.SEALED
        return State.PASSED if self.verdict.outcome == "passed" else State.HELD

    @property
    def may_go_out(self) -> bool:
        return self.state in (State.PASSED, State.RELEASED)


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
        return [self.get(number) for number in self.numbers()]

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
        folder = self._sealed(number).parent
        verdicts = (documents.read(path, Verdict) for _, path in documents.numbered(folder))
        return Increment(
            sealed,
            tuple(verdict for verdict in verdicts if verdict is not None),
            documents.read(folder / "release.json", Release),
        )

    def last_sealed(self, generation: str) -> int:
        """The last batch of a generation that is sealed, -1 where none is."""
        lasts = [i.sealed.last for i in self.all() if i.sealed.generation == generation]
        return max(lasts, default=-1)

    def seal(self, sealed: Sealed) -> bool:
        return documents.put_if_absent(self._sealed(sealed.increment), sealed)

    def judge(self, verdict: Verdict) -> int:
        """Add a verdict; its number within the increment is returned."""
        folder = self._sealed(verdict.increment).parent
        number = max((n for n, _ in documents.numbered(folder)), default=0)
        while True:
            number += 1
            if documents.put_if_absent(folder / f"{number:03d}.json", verdict):
                return number

    def decide(self, release: Release) -> bool:
        return documents.put_if_absent(
            self._sealed(release.increment).parent / "release.json", release
        )

    def folder_of(self, number: int) -> Path:
        """Where everything about an increment lies."""
        return self.folder / f"{number:06d}"

    def _sealed(self, number: int) -> Path:
        return self.folder_of(number) / "sealed.json"


def hash_of_files(batches: Iterable[Batch], net: Iterable[NetFile] | None = None) -> str:
    """Of what was written: path, size and rows of every file, in a fixed order.

    Args:
        batches: Of the increment.
        net: What their rows were merged into, with the hash of its content.
    """
    lines = sorted(
        f"{batch.generation}\0{file.path}\0{file.size}\0{file.rows}"
        for batch in batches
        for file in batch.outputs
    )
    lines += [f"net\0{file.path}\0{file.size}\0{file.rows}\0{file.sha256}" for file in net or ()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
