"""The files of all batches of a ledger, read at the first question about one of them."""

from collections.abc import Callable, Iterable
from pathlib import Path

from tidemill.ledger.batch import Batch


class KnownFiles:
    """Whether a batch of the ledger has written a file. Spark's own log rarely leaves that open.

    Args:
        sink: The folder that the batches' paths are relative to.
        batches: Reads the batches of the ledger.
    """

    def __init__(self, sink: Path, batches: Callable[[], Iterable[Batch]]) -> None:
        self._sink, self._batches = sink, batches
        self._paths: set[Path] | None = None

    def __contains__(self, path: object) -> bool:
        if self._paths is None:
            files = (file for batch in self._batches() for file in batch.outputs)
            self._paths = {self._sink / file.path for file in files}
        return path in self._paths

    def add(self, paths: Iterable[Path]) -> None:
        """Add the files of the next batch."""
        if self._paths is not None:
            self._paths.update(paths)
