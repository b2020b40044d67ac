"""What lies in a file source's directory, against what the ledger says was read.

Spark passes over late files, files that grew and files delivered again under an old name, without a
word (failure-modes rows 16 to 19). Here they become findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.file_source import FileSource
from spark_jobs.contract.source import Rating
from spark_jobs.ledger.batches import Batch, InputFile
from spark_jobs.ledger.listing import Found, InputMissing, list_source
from spark_jobs.ledger.look import Look, Problem

__all__ = [
    "Found",
    "InputChanged",
    "InputMissing",
    "InputMixed",
    "InputOverlooked",
    "InputTooOld",
    "Scan",
    "look",
    "scan",
]


class InputChanged(Refused):
    """A file that was read has changed since; what it holds now will never be read."""


class InputTooOld(Refused):
    """A file is older than `maxFileAge` lets Spark see; it will never be read."""


class InputOverlooked(Refused):
    """A file lies in a directory that Spark does not read; carries `files`."""


class InputMixed(Refused):
    """Files lie beside partition directories: Spark would take them in and read no row of them.

    Spark 4.2 logs such files as read, so they would be lost for good. Carries `files`.
    """


@dataclass(frozen=True)
class Scan:
    """The source's directory as it is now.

    Args:
        new: Files that the next run will read.
        changed: Files that were read and have changed since.
        too_old: Files that Spark will pass over for their age.
        overlooked: Files that Spark will pass over for the directory they lie in.
        last_arrival: The newest file's time; None where nothing ever arrived.
    """

    new: tuple[Found, ...]
    changed: tuple[Found, ...]
    too_old: tuple[Found, ...]
    overlooked: tuple[Found, ...]
    last_arrival: datetime | None

    @property
    def backlog_bytes(self) -> int:
        return sum(file.size for file in self.new)


def look(name: str, source: FileSource, batches: Sequence[Batch]) -> Look:
    """What waits in a source's directory, and what Spark would pass over there.

    Args:
        name: The source's, in the spec.
        source: Where it lists files.
        batches: All of the generation.

    Raises:
        InputMissing: as for `scan`.
        InputMixed: as for `scan`.
    """
    found = scan(name, source, batches)
    problems = [
        _problem(
            Rating.WARN,
            found.overlooked,
            InputOverlooked,
            "lies in a directory that Spark does not read",
            "Set options.recursiveFileLookup to read it.",
        ),
        _problem(
            source.changed,
            found.changed,
            InputChanged,
            "changed after it was read; what it holds now is never read",
            "Deliver the new content under a new name and put the old file back "
            "(or set sources.*.changed: warn).",
        ),
        _problem(
            source.too_old,
            found.too_old,
            InputTooOld,
            "is older than maxFileAge lets Spark see, and is never read",
            "touch the file, or remove maxFileAge from the spec.",
        ),
    ]
    return Look(
        name,
        new=len(found.new),
        unit="files",
        backlog_bytes=found.backlog_bytes,
        last_arrival=found.last_arrival,
        problems=tuple(problem for problem in problems if problem is not None),
        facts={
            "overlooked": len(found.overlooked),
            "changed": len(found.changed),
            "too_old": len(found.too_old),
        },
    )


def _problem(
    rating: Rating, files: tuple[Found, ...], error: type[Refused], what: str, remedy: str
) -> Problem | None:
    if not files:
        return None
    text = f"{files[0].path} {what} ({len(files)} such files)."
    return Problem(rating, error(text, remedy=remedy, files=[str(file.path) for file in files]))


def scan(name: str, source: FileSource, batches: Sequence[Batch]) -> Scan:
    """Compare the directory with the ledger.

    Raises:
        InputMissing: the directory, or the fixed part of a glob, does not exist.
        InputMixed: there are unread files beside partition directories.
    """
    read = {file.path: file for batch in batches for file in batch.inputs if file.source == name}
    listing = list_source(source)
    overlooked = tuple(f for f in listing.overlooked if str(f.path) not in read)
    if listing.partitioned and overlooked:
        raise InputMixed(
            f"{overlooked[0].path} lies beside partition directories (k=v); Spark would take it "
            f"in and read none of its rows ({len(overlooked)} such files).",
            remedy="Move it into a partition directory, or out of the source's directory.",
            files=[str(file.path) for file in overlooked],
        )
    seen = max((file.modified_ms for file in read.values()), default=None)
    new: list[Found] = []
    changed: list[Found] = []
    too_old: list[Found] = []
    for file in listing.files:
        before = read.get(str(file.path))
        if before is None:
            (too_old if _too_old(file, source, seen) else new).append(file)
        elif _changed(file, before):
            changed.append(file)
    times = [file.modified_ms for file in read.values()]
    times += [file.modified_ms for file in listing.files]
    return Scan(
        new=tuple(new),
        changed=tuple(changed),
        too_old=tuple(too_old),
        overlooked=overlooked,
        last_arrival=datetime.fromtimestamp(max(times) / 1000, UTC) if times else None,
    )


def _changed(now: Found, then: InputFile) -> bool:
    return now.modified_ms != then.modified_ms or then.size not in (None, now.size)


def _too_old(file: Found, source: FileSource, seen: int | None) -> bool:
    if source.maxFileAge is None or source.latestFirst or seen is None:
        return False
    return file.modified_ms < seen - source.maxFileAge.total_seconds() * 1000
