"""The starts of a generation, each read where it is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from tidemill.contract.errors import Refused
from tidemill.ledger.batch import Start
from tidemill.storage import documents


class StartUnknown(Refused):
    """Nothing says with which code a batch was made; carries `batch`."""

    @classmethod
    def of(cls, folder: Path, batch: int) -> "StartUnknown":
        """Nothing in a folder of starts can have made a batch."""
        return cls(
            f"{folder} has no start that batch {batch} could come from.",
            remedy="Restore it from a backup.",
            batch=batch,
        )


class StartList(Sequence[Start]):
    """The starts in order. Their names are listed at once, since their numbers have gaps.

    Args:
        folder: The folder that holds them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = sorted(documents.numbers(folder))

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Start: ...

    @overload
    def __getitem__(self, place: slice) -> list[Start]: ...

    def __getitem__(self, place: int | slice) -> Start | list[Start]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return read_start(self.folder, self._numbers[place])


def read_start(folder: Path, number: int, batch: int | None = None) -> Start:
    """One start.

    Args:
        folder: The folder that holds it.
        batch: The batch for which it is asked.

    Raises:
        StartUnknown: it is gone.
    """
    found = documents.read(folder / f"{number:06d}.json", Start)
    if found is None:
        raise StartUnknown(
            f"{folder} has no start {number}"
            + ("." if batch is None else f", which batch {batch} names."),
            remedy="Restore it from a backup.",
            batch=batch,
        )
    return found
