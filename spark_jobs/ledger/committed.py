"""What a generation's sink says was written, whatever kind of sink it is."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Protocol

from spark_jobs.ledger.note import Note
from spark_jobs.ledger.sink_log import SinkFile, read_sink_log


class Committed(Protocol):
    """The batches that a sink directory holds."""

    @property
    def sink(self) -> Path: ...

    @property
    def latest(self) -> int | None:
        """The last batch that was written, None for none."""
        ...

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        """The files that one batch wrote; see `SinkLog.files_of`."""
        ...


class Nothing:
    """The record of a sink of Spark's own, which leaves no files here: there is none.

    Args:
        sink: The directory where files would lie.
    """

    latest: int | None = None

    def __init__(self, sink: Path) -> None:
        self.sink = sink

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        return ()


def read_committed(note: Note | None, sink: Path) -> Committed:
    """Read what a sink directory holds.

    Args:
        note: Of the generation; None before its first start.
        sink: The directory.

    Raises:
        Refused: as `read_sink_log`.
    """
    if note is not None and note.writes == "nothing":
        return Nothing(sink)
    return read_sink_log(sink)
