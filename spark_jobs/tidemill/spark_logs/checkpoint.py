"""Spark's checkpoint of one query, read without a JVM: its id, planned and committed batches."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.spark_logs.commit_log import CommitEntry, read_commit
from tidemill.spark_logs.metadata_log import LogEntries, batch_files, repair_of, torn
from tidemill.spark_logs.offset_log import OffsetEntry, read_offsets
from tidemill.spark_logs.sink_contents import Committed
from tidemill.spark_logs.source_log import SourceFile, files_between, read_file_source_log

__all__ = [
    "Checkpoint",
    "CheckpointWithoutMetadata",
    "CommitEntry",
    "NotAFileSource",
    "OffsetEntry",
    "OffsetsExpired",
    "SourceFile",
    "first_write_leftovers",
    "read_checkpoint",
]

# `.0.<uuid>.tmp`, its checksum `..0.<uuid>.tmp.crc`, and the checksum of the entry itself.
_FIRST_WRITE = re.compile(r"\.0\.[^/]+\.tmp|\.\.0\.[^/]+\.tmp\.crc|\.0\.crc")


class CheckpointWithoutMetadata(Refused):
    """A checkpoint has batches but lost the file with the query's id; carries `checkpoint`."""


class OffsetsExpired(Refused):
    """The offsets of a batch are no longer in the checkpoint; carries `checkpoint`, `batch`."""


class NotAFileSource(Refused):
    """The inputs of a source without a list of files were asked for; carries `source`, `offset`."""


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one query; entries are read when asked for.

    Args:
        query_id: Spark's id of the query, None before its first start.
        offsets: Batch -> what was planned; Spark keeps the latest `minBatchesToRetain`.
        commits: Batch -> what was committed.
    """

    path: Path
    query_id: str | None
    offsets: LogEntries[OffsetEntry]
    commits: LogEntries[CommitEntry]

    @property
    def latest_offsets(self) -> int | None:
        """The last batch that was planned."""
        return max(self.offsets, default=None)

    @property
    def latest_commit(self) -> int | None:
        """The last batch that was committed."""
        return max(self.commits, default=None)

    def inputs(self, source: int | str = 0) -> Mapping[int, tuple[SourceFile, ...]]:
        """The files that each batch read from a file source, for every batch with offsets.

        A batch without data has no files. An error is raised when its batch is asked for.

        Args:
            source: Its number, or its name where the query names its sources.

        Raises:
            OffsetsExpired: Spark no longer has the offsets of this batch or the one before it.
            NotAFileSource: its offsets are not a file source's.
            GapInSourceLog: the source's log lacks an offset that the batch has read.
            MissingCompactLog: that log lacks a compact file.
            TornLogEntry: one of the entries is empty or cut off.
        """
        log = read_file_source_log(self.path, source)

        def files(_: Path, batch: int) -> tuple[SourceFile, ...]:
            before = self._log_offset(batch - 1, source) if batch else -1
            return files_between(log, before, self._log_offset(batch, source), self.path)

        return LogEntries(self.offsets.files, files)

    def _log_offset(self, batch: int, source: int | str) -> int:
        if batch not in self.offsets:
            raise OffsetsExpired(
                f"{self.path} no longer has the offsets of batch {batch}.",
                remedy="Restore the pipeline's ledger from a backup: it has them if a run ended "
                "since. Then raise spark.sql.streaming.minBatchesToRetain.",
                checkpoint=self.path,
                batch=batch,
            )
        offset = self.offsets[batch].sources.get(str(source))
        if offset is None:
            return -1
        if not isinstance(offset, dict) or "logOffset" not in offset:
            raise NotAFileSource(
                f"Source {source} in {self.path} has offsets that list no files.",
                remedy="Ask for the inputs of file sources only.",
                source=source,
                offset=offset,
            )
        return int(offset["logOffset"])


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; one that is not there is virgin.

    The two latest entries of each log are parsed at once, because Spark reads those when it
    starts; the others when they are asked for.

    Raises:
        TornLogEntry: an entry or `metadata` is empty or cut off.
        CheckpointWithoutMetadata: there are batches but no `metadata`.
        UnsupportedLogVersion: an entry has a version that is newer than Spark 4.2's.
    """
    # In this order every commit finds its offsets, also while the query runs.
    commits = LogEntries(batch_files(path / "commits"), read_commit)
    offsets = LogEntries(batch_files(path / "offsets"), read_offsets)
    query_id = _query_id(path / "metadata")
    if query_id is None and (offsets or commits):
        raise CheckpointWithoutMetadata(
            f"{path} has batches but no 'metadata' with the query's id.",
            remedy=repair_of(path),
            checkpoint=path,
        )
    checkpoint = Checkpoint(path, query_id, offsets, commits)
    _parse(offsets)
    _parse(commits)
    return checkpoint


def _parse(entries: Mapping[int, object]) -> None:
    for batch in sorted(entries)[-2:]:
        entries[batch]


def _query_id(file: Path) -> str | None:
    try:
        return str(json.loads(file.read_bytes())["id"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise torn(file, None, "it holds no query id") from error


def first_write_leftovers(path: Path, log: Committed) -> tuple[Path, ...]:
    """Leftovers of a driver that died in its very first write, which block the checkpoint.

    Before batch 0 Spark wants `offsets/` to be empty and takes its own temporary file for data:
    every retry ends with STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY (SPARK-53103). A checksum
    without its entry ends one run with CONCURRENT_STREAM_LOG_UPDATE. Nothing was committed then,
    so that deleting these files, and only these, loses nothing.

    Args:
        path: The checkpoint directory; no driver may be running on it.
        log: What the sink has committed.

    Returns:
        The files to delete; none where something was planned or committed, or where anything else
        is in `offsets/`, `commits/` or `state/`, for that is not a mere leftover.
    """
    leftovers = _content(path / "offsets")
    if not all(_FIRST_WRITE.fullmatch(file.name) for file in leftovers):
        return ()
    if _content(path / "commits") or _content(path / "state") or log.latest is not None:
        return ()
    return leftovers


def _content(directory: Path) -> tuple[Path, ...]:
    return tuple(sorted(directory.iterdir())) if directory.is_dir() else ()
