"""Spark's own files that committed batches depend on, beside their data."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tidemill.spark_logs.checkpoint import Checkpoint
from tidemill.spark_logs.compactible_log import COMPACT
from tidemill.spark_logs.metadata_log import batch_files
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.storage.folders import walk


def spark_files(checkpoint: Checkpoint, sink: Path, batches: Sequence[int]) -> Iterator[Path]:
    """The files that Spark needs to continue after some batches: log entries and state.

    Args:
        checkpoint: The checkpoint that has committed the batches.
        batches: Batches of one run, in order.
    """
    yield checkpoint.path / "metadata"
    yield from with_checksums(_entries(checkpoint, sink, batches))
    yield from _newer(checkpoint.path / "state", _committed_at(checkpoint, batches[0] - 1))


def planned_files(checkpoint: Path, batch: int) -> Iterator[Path]:
    """The plan of a batch, and the entries of its sources' logs that came with it."""
    offsets, before = (checkpoint / "offsets" / str(n) for n in (batch, batch - 1))
    yield from with_checksums([offsets])
    since = before.stat().st_mtime_ns if before.exists() else 0
    yield from _newer(checkpoint / "sources", since)


def with_checksums(files: Iterable[Path]) -> Iterator[Path]:
    """Files with the checksums that Hadoop keeps beside them: with a torn one it reads neither."""
    for file in files:
        yield file
        checksum = file.with_name(f".{file.name}.crc")
        if checksum.exists():
            yield checksum


def _entries(checkpoint: Checkpoint, sink: Path, batches: Sequence[int]) -> Iterator[Path]:
    for batch in batches:
        yield checkpoint.offsets.files[batch]
        yield checkpoint.commits.files[batch]
        log = sink / METADATA_DIRECTORY
        yield from (log / f"{batch}{kind}" for kind in ("", COMPACT))
    sources = checkpoint.path / "sources"
    for folder in sorted(sources.iterdir()) if sources.is_dir() else ():
        known = _offset_after(checkpoint, batches[0] - 1, folder.name)
        for kind in ("", COMPACT):
            found = batch_files(folder, kind)
            yield from (file for number, file in found.items() if number > known)


def _offset_after(checkpoint: Checkpoint, batch: int, source: str) -> int:
    """The last entry of a file source's log that a batch has read, -1 for none or another kind."""
    offset = checkpoint.offsets[batch].sources.get(source) if batch in checkpoint.offsets else None
    return int(offset["logOffset"]) if isinstance(offset, dict) and "logOffset" in offset else -1


def _committed_at(checkpoint: Checkpoint, batch: int) -> int:
    """The time of a batch's commit, by the file system's clock; 0 if the entry is gone."""
    file = checkpoint.commits.files.get(batch)
    return 0 if file is None else file.stat().st_mtime_ns


def _newer(folder: Path, since: int) -> Iterator[Path]:
    """The files below a folder that were written since."""
    for above, _, names in walk(folder):
        for name in names:
            path = above / name
            # Spark renames and expires some at any time.
            with suppress(FileNotFoundError):
                if path.stat().st_mtime_ns >= since:
                    yield path
