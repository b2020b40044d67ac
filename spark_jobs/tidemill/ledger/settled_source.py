"""What settled batches read of one source."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile


class SettledSource(FrozenModel):
    """What settled batches read of one source.

    Attributes:
        files: The number of its files.
        newest_ms: The newest file's time of modification, in milliseconds since the epoch.
        brought: When the last batch was committed that read files of it.
        read: Whether a batch has an offset of it.
    """

    files: int = 0
    newest_ms: int | None = None
    brought: datetime | None = None
    read: bool = False


def with_batches(
    known: Mapping[str, SettledSource], batches: Sequence[Batch], first_read: Iterable[InputFile]
) -> dict[str, SettledSource]:
    """What settled batches read of each source, once others are settled too.

    Args:
        known: What those before them read.
        batches: The others.
        first_read: The files of theirs whose path no batch before them has read.
    """
    found = defaultdict(SettledSource, known)

    def update(name: str, **values: Any) -> None:
        found[name] = found[name].model_copy(update=values)

    for batch in batches:
        for name, newest_ms in _newest(batch.inputs).items():
            brought, newest = found[name].brought, found[name].newest_ms
            update(
                name,
                brought=max(brought or batch.committed, batch.committed),
                newest_ms=max(newest or newest_ms, newest_ms),
            )
        for name in (name for name, offset in batch.offsets.items() if offset):
            update(name, read=True)
    for name, files in Counter(file.source for file in first_read).items():
        update(name, files=found[name].files + files)
    return dict(found)


def _newest(files: Iterable[InputFile]) -> dict[str, int]:
    """Source -> its newest file's time of modification."""
    found: dict[str, int] = {}
    for file in files:
        found[file.source] = max(file.modified_ms, found.get(file.source, file.modified_ms))
    return found
