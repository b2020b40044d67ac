"""Compares a file source's directory with what the ledger says was read.

Spark goes by a file's path (or name) alone: what it has read once it never reads again, whatever
becomes of it. So these are told apart, from a listing and the ledger, without Spark:

- *changed*: the file that was read was written to since (same inode, other size or time);
- *re-delivered*: another file has taken its path (other inode), or, with `fileNameOnly`, its name;
- *the same content under another name*: Spark reads it, and its rows are there twice;
- *gone*: the file that was read is not there any more.

A file whose content is known to be what was read is not one of them, whatever its time says.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile, content_hash
from tidemill.sources.files.inputs_read import InputsRead, inputs_read
from tidemill.sources.files.listing import (
    Found,
    Listing,
    is_mistyped_partition,
    is_nameless_partition,
    is_partition_of_today,
    list_source,
)
from tidemill.sources.files.source_tree import readable
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource


class InputMixed(Refused):
    """Files are beside partition directories: Spark would take them in and read no row of them.

    Spark 4.2 logs such files as read, so they would be lost for good. Carries `files`.
    """


@dataclass(frozen=True)
class Scan:
    """The source's directory as it is now.

    Args:
        seen: How many files Spark would list.
        new: Files that the next run will read.
        changed: Files that were read and were written to since.
        redelivered: Files that have the path or name of one that was read, and are another.
        same_content: New file -> the path of one with the same content.
        too_old: Files that Spark will pass over for their age.
        overlooked: Files that Spark will pass over for the directory they are in.
        not_utf8: Files that Spark does not see because of their name.
        passed_over: Hidden files and links that lead nowhere, which Spark does not read.
        with_colon: Files whose name has a colon, with which Spark cannot open them.
        nameless_partition: Files below a folder such as `y=`, because of which Spark lists nothing.
        partition_of_today: Files below a folder such as `at=12%3A30`, which Spark dates by the day
            of the run.
        mistyped_partition: Files below a folder such as `day=noon`, at which Spark fails.
        known: How many of the files that were read are there.
        still_there: Files whose path was read -> the time of modification that they had then.
        read: The files that were read.
        listing: The files that Spark would list, and those that it passes over.
        last_arrival: The newest file's time; None where nothing ever arrived.
    """

    seen: int
    new: tuple[Found, ...]
    changed: tuple[Found, ...]
    redelivered: tuple[Found, ...]
    same_content: Mapping[Found, str]
    too_old: tuple[Found, ...]
    overlooked: tuple[Found, ...]
    not_utf8: tuple[Found, ...]
    passed_over: tuple[Path, ...]
    with_colon: tuple[Found, ...]
    nameless_partition: tuple[Found, ...]
    partition_of_today: tuple[Found, ...]
    mistyped_partition: tuple[Found, ...]
    known: int
    still_there: Mapping[Path, int]
    read: InputsRead
    listing: Listing
    last_arrival: datetime | None

    @property
    def backlog_bytes(self) -> int:
        return sum(file.size for file in self.new)

    @property
    def oldest_new(self) -> datetime | None:
        """The time of the oldest file that the next run will read; None where there is none."""
        oldest = min((file.modified_ms for file in self.new), default=None)
        return None if oldest is None else datetime.fromtimestamp(oldest / 1000, UTC)


def scan(name: str, source: FileSource, batches: Sequence[Batch]) -> Scan:
    """Compare the directory with the ledger.

    Args:
        batches: All of the generation.

    Raises:
        InputMissing: the directory, or the fixed part of a glob, does not exist.
        InputMixed: there are unread files beside partition directories.
        InputUnreadable: a folder cannot be listed, or a file cannot be compared.
        InputCircular: links in it lead in circles.
    """
    field = f"sources.{name}.path"
    listing = list_source(source, field)
    with readable(field):
        return _compare(name, source, listing, batches)


def _compare(name: str, source: FileSource, listing: Listing, batches: Sequence[Batch]) -> Scan:
    read = inputs_read(name, batches, by_name=source.fileNameOnly)
    before_at = {f.path: read.at(f.path) for f in (*listing.files, *listing.overlooked)}
    overlooked = tuple(f for f in listing.overlooked if before_at[f.path] is None)
    if listing.partitioned and overlooked:
        raise InputMixed(
            f"{overlooked[0].path} is beside partition directories (k=v); Spark would take it "
            f"in and read none of its rows ({counted(len(overlooked), 'such file')}).",
            remedy="Move it into a partition directory, or out of the source's directory.",
            files=[str(file.path) for file in overlooked],
        )
    names = read.by_name() if source.fileNameOnly else {}
    new: list[Found] = []
    changed: list[Found] = []
    redelivered: list[Found] = []
    too_old: list[Found] = []
    for file in sorted(listing.files, key=lambda file: (file.modified_ms, file.path)):
        before = before_at[file.path]
        namesake = names.get(file.path.name)
        if before is not None:
            if not _is_what_was_read(file, before):
                (redelivered if before.inode not in (None, file.inode) else changed).append(file)
        elif namesake is not None:
            if not _has_content_of(file, namesake):
                redelivered.append(file)
        elif _too_old(file, source, read.newest_ms):
            too_old.append(file)
        else:
            new.append(file)
    if source.fileNameOnly:
        redelivered += _namesakes(new)
    times = [] if read.newest_ms is None else [read.newest_ms]
    times += [file.modified_ms for file in listing.files]
    compared = () if source.same_content is Rating.IGNORE else new
    return Scan(
        seen=len(listing.files),
        new=tuple(new),
        changed=tuple(changed),
        redelivered=tuple(redelivered),
        same_content=_same_content(compared, read),
        too_old=tuple(too_old),
        overlooked=overlooked,
        not_utf8=listing.not_utf8,
        passed_over=listing.passed_over,
        with_colon=tuple(file for file in new if _has_colon(file.path, source)),
        nameless_partition=_within(listing.files, is_nameless_partition, source),
        partition_of_today=_within(new, is_partition_of_today, source),
        mistyped_partition=_within(new, is_mistyped_partition, source),
        known=_known(source, read, before_at),
        still_there={path: was.modified_ms for path, was in before_at.items() if was is not None},
        read=read,
        listing=listing,
        last_arrival=datetime.fromtimestamp(max(times) / 1000, UTC) if times else None,
    )


def _within(
    files: Sequence[Found], is_such: Callable[[Path, FileSource], bool], source: FileSource
) -> tuple[Found, ...]:
    """The files in folders of a kind; each folder is looked at once, however many are in it."""
    folders = {one for one in {file.path.parent for file in files} if is_such(one, source)}
    return tuple(file for file in files if file.path.parent in folders) if folders else ()


def _known(source: FileSource, read: InputsRead, before_at: Mapping[Path, InputFile | None]) -> int:
    if not source.fileNameOnly:
        return sum(before is not None for before in before_at.values())
    names = {path.name for path in before_at}
    return sum(path.name in names for path in read.paths)


def _is_what_was_read(now: Found, then: InputFile) -> bool:
    if now.modified_ms == then.modified_ms and then.size in (None, now.size):
        return True
    return _has_content_of(now, then)


def _has_content_of(now: Found, then: InputFile) -> bool:
    if then.sha256 is None or now.size != then.size:
        return False
    try:
        return content_hash(now.path) == then.sha256
    except FileNotFoundError:
        return False


def _has_colon(path: Path, source: FileSource) -> bool:
    """Whether Hadoop takes a part of a name for the protocol of an address, as in `12:30.csv`.

    It builds the path of a file's checksum from the name alone, and below a glob that of a folder.
    """
    below_glob = source.path != str(source.directory)
    return ":" in (str(path.relative_to(source.directory)) if below_glob else path.name)


def _namesakes(new: Iterable[Found]) -> list[Found]:
    """All but the first of each name: which of them Spark reads depends on how it cuts batches."""
    first: dict[str, Found] = {}
    return [file for file in new if first.setdefault(file.path.name, file) is not file]


def _same_content(new: Iterable[Found], read: InputsRead) -> dict[Found, str]:
    """Only files of one size are compared, so that most are never opened."""
    by_size: dict[int, list[Found]] = defaultdict(list)
    for file in new:
        by_size[file.size].append(file)
    found: dict[Found, str] = {}
    for size, files in by_size.items():
        known = dict(read.contents(size)) if size else {}
        if size == 0 or len(files) + len(known) < 2:
            continue
        for file in files:
            try:
                first = known.setdefault(content_hash(file.path), str(file.path))
            except FileNotFoundError:
                continue
            if first != str(file.path):
                found[file] = first
    return found


def _too_old(file: Found, source: FileSource, newest: int | None) -> bool:
    if source.maxFileAge is None or source.latestFirst or newest is None:
        return False
    return file.modified_ms < newest - source.maxFileAge.total_seconds() * 1000
