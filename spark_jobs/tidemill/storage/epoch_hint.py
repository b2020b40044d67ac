"""The last epoch that a process remembers to have taken, so that a look at a lease lists nothing.

It only says where to begin: an epoch that it names counts where its own file is there, and later
ones are looked for by name.
"""

from contextlib import suppress
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.errors import TidemillError
from tidemill.storage import documents

NAME = "newest.json"


class EpochHint(Document):
    """The document that names the epoch."""

    epoch: int


def read_hint(folder: Path) -> int | None:
    """An epoch from which to look on; None where none is remembered.

    Args:
        folder: The folder of the lease.
    """
    found = documents.read_if_whole(folder / NAME, EpochHint)
    return None if found is None else found.epoch


def leave_hint(folder: Path, epoch: int) -> None:
    """Remember an epoch; nothing happens where the disk takes no more."""
    with suppress(OSError, TidemillError):
        documents.replace(folder / NAME, EpochHint(epoch=epoch))
