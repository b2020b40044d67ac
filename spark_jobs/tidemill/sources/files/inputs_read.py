"""The files that batches have read of one source, looked up in memory or in an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.input_index import InputIndex
from tidemill.ledger.past_batches import PastBatches
from tidemill.ledger.settled_source import SettledSource


class InputsRead:
    """The files of a source that batches have read, each as the last of them found it.

    Args:
        name: The source's name.
        batches: The batches, in order.

    Attributes:
        count: The number of different files.
        newest_ms: The newest one's time of modification, in milliseconds; None for no file.
    """

    def __init__(self, name: str, batches: Sequence[Batch]) -> None:
        found = (file for batch in batches for file in batch.inputs if file.source == name)
        self._files = {file.path: file for file in found}
        self.count = len(self._files)
        self.newest_ms = max((file.modified_ms for file in self._files.values()), default=None)
        self._contents: dict[int | None, dict[str, str]] | None = None

    def at(self, path: Path) -> InputFile | None:
        """What was read from a path; None where nothing was."""
        return self._files.get(str(path))

    def contents(self, size: int) -> Mapping[str, str]:
        """Hash of a content of some size -> the path from which it was read first."""
        if self._contents is None:
            self._contents = {}
            for file in self._files.values():
                if file.sha256 is not None:
                    of_size = self._contents.setdefault(file.size, {})
                    of_size.setdefault(file.sha256, file.path)
        return self._contents.get(size, {})

    def folders(self) -> set[Path]:
        """The folders that the files were in."""
        return {file.on_disk.parent for file in self._files.values()}

    def by_name(self) -> dict[str, InputFile]:
        """File name -> the last file of that name."""
        return {file.on_disk.name: file for file in self._files.values()}

    @property
    def paths(self) -> set[Path]:
        return {Path(path) for path in self._files}


class IndexedInputs(InputsRead):
    """The same, of which the files of settled batches are looked up in their index.

    Args:
        known: What the settled batches read of the source.
        rest: The batches after them; no file of theirs is in the index.
    """

    def __init__(
        self, name: str, known: SettledSource, index: InputIndex, rest: Sequence[Batch]
    ) -> None:
        super().__init__(name, rest)
        self._name, self._index = name, index
        self.count += known.files
        times = (self.newest_ms, known.newest_ms)
        self.newest_ms = max((time for time in times if time is not None), default=None)

    def at(self, path: Path) -> InputFile | None:
        return super().at(path) or self._index.at(self._name, str(path))

    def contents(self, size: int) -> Mapping[str, str]:
        return {**super().contents(size), **self._index.contents(self._name, size)}

    def folders(self) -> set[Path]:
        return super().folders() | self._index.folders(self._name)


def inputs_read(name: str, batches: Sequence[Batch], *, by_name: bool) -> InputsRead:
    """What batches have read of a source.

    Args:
        by_name: Whether files are asked for by their names, which the index does not know.
    """
    if not isinstance(batches, PastBatches) or by_name:
        return InputsRead(name, batches)
    rest = InputsRead(name, batches.rest)
    if any(batches.inputs.at(name, str(path)) for path in rest.paths):
        # A file that was read again: the index has it as it was before.
        return InputsRead(name, batches)
    known = batches.settled.sources.get(name, SettledSource())
    return IndexedInputs(name, known, batches.inputs, batches.rest)
