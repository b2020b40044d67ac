"""The log of a file source, the checkpoint's `sources/<id>`: which files were read.

The log counts offsets of its own. A batch reads the files of all offsets after the one before it
and up to its own; a batch without data repeats its predecessor's, and after a crash one batch may
take several.

Spark reads no file again whose path is in the log. Entries under the offset `KEPT`, which no batch
has read, are there for that alone (`spark_logs.source_log_cut`).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.objects.object_path import path_of
from tidemill.spark_logs.compactible_log import GapInSourceLog, compactible_log
from tidemill.spark_logs.metadata_log import read_log_file, repair_of
from tidemill.spark_logs.partition_paths import disk_path

# Spark's own number for an entry without a batch.
KEPT = -1


@dataclass(frozen=True)
class SourceFile:
    """A file that a file source has taken in.

    Args:
        modified_ms: Milliseconds since the epoch, when Spark listed it.
        log_offset: The source's own count, not a batch id.
    """

    path: Path
    modified_ms: int
    log_offset: int


def read_file_source_log(
    checkpoint: Path, source: int | str = 0
) -> Mapping[int, tuple[SourceFile, ...]]:
    """Read the files that a source has taken in, by the source's own offset.

    Args:
        checkpoint: The checkpoint directory.
        source: The source's number, or its name where the query names its sources.

    Raises:
        TornLogEntry: an entry is empty or cut off.
        MissingCompactLog: a compact file that must be there is missing.
        GapInSourceLog: the entry of another offset is missing.
        UnsupportedLogVersion: the log is of another version than 1.
    """
    log = compactible_log(checkpoint / "sources" / str(source))
    found: dict[int, list[SourceFile]] = defaultdict(list)
    if log.compacted_upto is not None:
        for file in read_source_entry(log.compact[log.compacted_upto], log.compacted_upto):
            found[file.log_offset].append(file)
    for offset in log.tail(GapInSourceLog):
        files = read_source_entry(log.plain[offset], offset)
        found[offset] = [file for file in files if file.log_offset != KEPT]
    found.pop(KEPT, None)
    return {offset: tuple(found[offset]) for offset in sorted(found)}


def files_between(
    log: Mapping[int, tuple[SourceFile, ...]], after: int, upto: int, checkpoint: Path
) -> tuple[SourceFile, ...]:
    """The files of the offsets in (after, upto].

    Raises:
        GapInSourceLog: one of the offsets is not in the log; Spark writes none without a file.
    """
    for offset in range(after + 1, upto + 1):
        if not log.get(offset):
            raise GapInSourceLog(
                f"The file source's log in {checkpoint} has no files for offset {offset}.",
                remedy=repair_of(checkpoint),
                file=checkpoint,
                batch=offset,
            )
    return tuple(file for offset in range(after + 1, upto + 1) for file in log[offset])


def read_source_entry(file: Path, offset: int) -> tuple[SourceFile, ...]:
    """The files of one entry, of a compact one those of all before it too.

    Raises:
        TornLogEntry: it is empty or cut off.
    """
    return tuple(_files(file, offset))


def _files(file: Path, offset: int) -> Iterator[SourceFile]:
    entry = read_log_file(file, offset, (1,))
    for number in range(len(entry.lines)):
        line = entry.json(number)
        try:
            path, modified_ms, log_offset = line["path"], line["timestamp"], line["batchId"]
        except KeyError as error:
            raise entry.torn(f"line {number + 2} lacks {error}") from error
        yield SourceFile(path_of(disk_path(path)), modified_ms, log_offset)
