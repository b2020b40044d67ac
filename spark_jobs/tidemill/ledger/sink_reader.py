"""Reads what a generation's sink holds, whatever kind of sink it is."""

from collections.abc import Container
from pathlib import Path

from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.manifests import read_attempts
from tidemill.spark_logs.sink_contents import Committed
from tidemill.spark_logs.sink_log import SinkFile, read_sink_log


class Nothing:
    """The record of a sink of Spark's own, which leaves no files here: there is none.

    Args:
        sink: The directory where files would be.
    """

    latest: int | None = None
    files: tuple[SinkFile, ...] = ()

    def __init__(self, sink: Path) -> None:
        self.sink = sink

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        return ()

    def rows_in(self, batch: int) -> int | None:
        return None


def read_committed(note: GenerationNote | None, sink: Path) -> Committed:
    """Read what a sink directory holds.

    Args:
        note: The note of the generation; None before its first start.

    Raises:
        Refused: as `read_sink_log` and `read_attempts`.
    """
    writes = None if note is None else note.writes
    if writes == "nothing":
        return Nothing(sink)
    if writes == "files":
        return read_sink_log(sink)
    # Without a note a sink that holds anything is refused, whatever kind it is of.
    attempts = read_attempts(sink)
    return read_sink_log(sink) if writes is None and attempts.latest is None else attempts
