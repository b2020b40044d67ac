"""The log of a file sink, `_spark_metadata`: what was committed, read without a JVM.

Every batch has an entry, also one that wrote no file. A compaction batch has no entry of its own:
its files stand in its `.compact`, after those of all batches before it and without batch ids.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.layout import pipeline_holding
from tidemill.contract.objects.object_path import ObjectPath, path_of
from tidemill.spark_logs.compactible_log import GapInSinkLog, compactible_log
from tidemill.spark_logs.metadata_log import LogEntries, LogFile, read_log_file
from tidemill.spark_logs.partition_paths import disk_path

METADATA_DIRECTORY = "_spark_metadata"


class SinkMoved(Refused):
    """The log names files elsewhere; carries `file`, `batch`, `recorded` and `actual`.

    Paths in the log are absolute: with a given schema and no partitions, Spark then reads no rows.
    """


class UnknownSinkAction(Refused):
    """An entry does not add a file; carries `file`, `batch` and `action`.

    Spark 4.2 writes `add` only and does not look at the action when it reads.
    """


class FilesOfBatchUnknown(Refused):
    """The files of a batch can no longer be identified; carries `sink` and `batch`."""


@dataclass(frozen=True)
class SinkFile:
    """A file that the sink has committed.

    Args:
        size: In bytes, as committed.
        modified_ms: Milliseconds since the epoch, as committed.
        base: Where its partition directories begin; None for the sink directory itself.
    """

    path: Path
    size: int
    modified_ms: int
    base: Path | None = None


@dataclass(frozen=True)
class SinkLog:
    """The log of a file sink.

    Args:
        latest: The last batch, None if there is none.
        compacted_upto: The batch of the latest compact file.
        single: Batch -> its files, for batches whose own entry is still there.
        compact: Batch -> its files and those of all batches before it, in order.
    """

    sink: Path
    latest: int | None
    compacted_upto: int | None
    single: Mapping[int, tuple[SinkFile, ...]]
    compact: Mapping[int, tuple[SinkFile, ...]]

    @cached_property
    def files(self) -> tuple[SinkFile, ...]:
        """Everything committed, in order; a long log takes a second for 100,000 files."""
        if self.latest is None:
            return ()
        start = -1 if self.compacted_upto is None else self.compacted_upto
        before = self.compact[start] if start >= 0 else ()
        tail = (self.single[batch] for batch in range(start + 1, self.latest + 1))
        return before + tuple(file for files in tail for file in files)

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        """The files that one batch wrote.

        To complete a ledger, ask for the batches that it lacks in order, and add the files of each
        to `known` before asking for the next.

        Args:
            batch: A batch up to `latest`.
            known: The paths of *all* files of *all* earlier batches, from the ledger. Needed only
                for a compaction batch, and only if entries since the compaction before it are gone.

        Raises:
            FilesOfBatchUnknown: the entry is gone, or what came before it is not known.
            TornLogEntry: an entry that is needed cannot be read.
        """
        if batch in self.single:
            return self.single[batch]
        if batch not in self.compact:
            raise self._unknown(batch)
        everything = self.compact[batch]
        earlier = self._readable_before(batch)
        if earlier is not None:
            return tuple(file for file in everything if file.path not in earlier)
        own = tuple(file for file in everything if file.path not in known)
        # The batch's own files come last, so anything else left over is a gap in what is known.
        earlier_count = len(everything) - len(own)
        if own != everything[earlier_count:] or (own and not earlier_count):
            raise self._unknown(batch)
        return own

    def rows_in(self, batch: int) -> int | None:
        """The rows that a batch read, which Spark's log does not say."""
        return None

    def _readable_before(self, batch: int) -> set[Path] | None:
        """The files of all earlier batches, or None if the log itself no longer tells."""
        start = max((other for other in self.compact if other < batch), default=-1)
        between = range(start + 1, batch)
        if not all(other in self.single for other in between):
            return None
        files = {file.path for file in self.compact[start]} if start >= 0 else set()
        for other in between:
            files.update(file.path for file in self.single[other])
        return files

    def _unknown(self, batch: int) -> FilesOfBatchUnknown:
        return FilesOfBatchUnknown(
            f"{self.sink / METADATA_DIRECTORY} no longer tells which files batch {batch} wrote.",
            remedy="Restore the pipeline's ledger from a backup: it has them if a run ended since.",
            sink=self.sink,
            batch=batch,
        )


def read_sink_log(sink: Path) -> SinkLog:
    """Read what a file sink has committed, as `spark.read` sees it.

    The entries since the latest compaction are read at once, of that one its first and last line:
    this shows whether the log is whole and belongs here. The rest is read when it is asked for.

    Args:
        sink: The sink directory; one without a log has committed nothing.

    Raises:
        TornLogEntry: an entry is empty or cut off.
        MissingCompactLog: a compact file that must be there is missing.
        GapInSinkLog: the entry of another batch is missing.
        SinkMoved: the log was written for another directory.
        UnknownSinkAction: an entry does not add a file.
        UnsupportedLogVersion: the log is of another version than 1.
    """
    if not isinstance(sink, ObjectPath):
        sink = Path(os.path.abspath(sink))  # noqa: PTH100 - `resolve` would leave the recorded name
    log = compactible_log(sink / METADATA_DIRECTORY)
    parse = partial(read_sink_entry, sink=sink)
    single, compact = LogEntries(log.plain, parse), LogEntries(log.compact, parse)
    if log.compacted_upto is not None:
        read_sink_entry(
            log.compact[log.compacted_upto], log.compacted_upto, sink, last_line_only=True
        )
    for batch in log.tail(GapInSinkLog):
        single[batch]
    return SinkLog(sink, log.latest, log.compacted_upto, single, compact)


def read_sink_entry(
    file: Path, batch: int, sink: Path, *, last_line_only: bool = False
) -> tuple[SinkFile, ...]:
    """The files of one entry, of a compact one those of all before it too.

    Raises:
        TornLogEntry: it is empty or cut off.
    """
    entry = read_log_file(file, batch, (1,))
    lines = range(len(entry.lines))
    return tuple(_files(entry, lines[-1:] if last_line_only else lines, sink))


def _files(entry: LogFile, lines: Iterable[int], sink: Path) -> Iterator[SinkFile]:
    for number in lines:
        status = entry.json(number)
        try:
            path, size, modified_ms = status["path"], status["size"], status["modificationTime"]
            is_directory, action = status["isDir"], status["action"]
        except KeyError as error:
            raise entry.torn(f"line {number + 2} lacks {error}") from error
        if action != "add":
            raise UnknownSinkAction(
                f"{entry.file} has a file with the action '{action}'.",
                remedy="Restore it from a backup: Spark 4.2 only ever writes 'add'.",
                file=entry.file,
                batch=entry.batch,
                action=action,
            )
        if not is_directory:
            yield SinkFile(_below(sink, disk_path(path), entry), size, modified_ms)


def _below(sink: Path, recorded: str, entry: LogFile) -> Path:
    prefix = f"{sink}/"
    if recorded.startswith(prefix):
        return path_of(recorded)
    directory = sink_of(path_of(recorded))
    if directory.resolve() == sink.resolve():
        return sink / path_of(recorded).relative_to(directory)
    raise SinkMoved(
        f"{entry.file} names files in {directory}, but the sink is {sink}.",
        remedy=f"Move it back to {directory}. Or have its paths rewritten for the new place: "
        f"tidemill relocate {pipeline_holding(sink)} --apply",
        file=entry.file,
        batch=entry.batch,
        recorded=directory,
        actual=sink,
    )


def sink_of(file: Path) -> Path:
    """The directory above the partition directories of a file."""
    directory = file.parent
    while "=" in directory.name:
        directory = directory.parent
    return directory
