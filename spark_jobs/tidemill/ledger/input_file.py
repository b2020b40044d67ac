"""A file that a batch read, with what identifies it later."""

import os
from datetime import datetime
from pathlib import Path

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.document import FrozenModel
from tidemill.contract.unchanged_file import Findings
from tidemill.spark_logs.source_log import SourceFile
from tidemill.spec.spec import Spec

_HASHES = Findings[str]()


class InputFile(FrozenModel):
    """A file that a batch read.

    Attributes:
        size: In bytes; None if the file changed between its listing and the batch's bookkeeping.
        modified_ms: Its time of modification, in milliseconds since the epoch.
        inode: The file's inode; it tells a rewritten file from one that took its place.
        sha256: The hash of its content; None where the spec does not compare contents, and for an
            empty file.
        rows: The rows that it holds, good and bad, counted without Spark; None where only Spark
            can tell, or it was not counted yet.
    """

    source: str
    path: str
    size: int | None
    modified_ms: int
    inode: int | None = None
    sha256: str | None = None
    rows: int | None = None

    @property
    def on_disk(self) -> Path:
        """Its path when it was read."""
        return Path(self.path)

    def is_at(self, path: Path) -> bool:
        """Whether what is there is what was read, by size and time."""
        try:
            status = path.stat()
        except FileNotFoundError:
            return False
        then = (self.size, self.modified_ms)
        return then == (status.st_size, status.st_mtime_ns // 1_000_000)


def taken_in(source: str, file: SourceFile, since: datetime, *, hashed: bool) -> InputFile:
    """A file as a committed batch read it.

    That is the file as it is now, if it has not changed since Spark listed it, or at least not
    since the query began that made the batch's rows: a batch that failed over a torn file runs
    again when that is fixed.

    Args:
        since: When the query that made the batch's rows started.
        hashed: Whether to take the content's hash.
    """
    lost = InputFile(source=source, path=str(file.path), size=None, modified_ms=file.modified_ms)
    try:
        status = file.path.stat()
        modified_ms = status.st_mtime_ns // 1_000_000
        if modified_ms != file.modified_ms and _changed_at(status) >= since.timestamp():
            return lost
        sha256 = content_hash(file.path) if hashed and status.st_size else None
        now = file.path.stat()
    except FileNotFoundError:
        return lost
    if (now.st_mtime_ns, now.st_size) != (status.st_mtime_ns, status.st_size):
        return lost
    return InputFile(
        source=source,
        path=str(file.path),
        size=status.st_size,
        modified_ms=modified_ms,
        inode=status.st_ino,
        sha256=sha256,
    )


def hashed_sources(spec: Spec) -> tuple[str, ...]:
    """The sources whose files are compared by their content."""
    return tuple(name for name, source in spec.sources.items() if source.hashes_content)


def content_hash(path: Path) -> str:
    """The hash of an input file's content; taken once while the file stays the same.

    Raises:
        FileNotFoundError: it is gone.
    """
    return _HASHES.of(path, "sha256", lambda: sha256_of(path))


def _changed_at(status: os.stat_result) -> float:
    # A file that was moved here keeps its time of modification; only this one tells when.
    return max(status.st_ctime, status.st_mtime)
