"""What lies in a file source's directory, against what the ledger says was read.

Spark passes over late files, files that grew and files delivered again under an old name, without a
word (failure-modes rows 16 to 19). Here they become findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.file_source import FileSource
from spark_jobs.ledger.batches import Batch, InputFile
from spark_jobs.ledger.listing import Found, InputMissing, list_source

__all__ = ["Found", "InputChanged", "InputMissing", "InputMixed", "InputTooOld", "Scan", "scan"]


class InputChanged(Refused):
    """A file that was read has changed since; what it holds now will never be read."""


class InputTooOld(Refused):
    """A file is older than `maxFileAge` lets Spark see; it will never be read."""


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


def scan(source: FileSource, batches: list[Batch]) -> Scan:
    """Compare the directory with the ledger.

    Raises:
        InputMissing: the directory, or the fixed part of a glob, does not exist.
        InputMixed: there are unread files beside partition directories.
    """
    read = {file.path: file for batch in batches for file in batch.inputs}
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
