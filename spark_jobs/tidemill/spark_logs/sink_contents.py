"""The batches in a sink directory, whatever kind of sink wrote them."""

from collections.abc import Container
from pathlib import Path
from typing import Protocol

from tidemill.spark_logs.sink_log import SinkFile


class Committed(Protocol):
    """The batches that a sink directory holds."""

    @property
    def sink(self) -> Path: ...

    @property
    def latest(self) -> int | None:
        """The last batch that was written, None for none."""
        ...

    @property
    def files(self) -> tuple[SinkFile, ...]:
        """The files of all batches."""
        ...

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        """The files that one batch wrote; see `SinkLog.files_of`."""
        ...

    def rows_in(self, batch: int) -> int | None:
        """The rows that one batch read, where its writer counted them."""
        ...
