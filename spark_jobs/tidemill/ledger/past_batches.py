"""The batches of a ledger, of which the older ones are read only where one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import overload

from tidemill.ledger.batch import Batch
from tidemill.ledger.input_index import InputIndex
from tidemill.ledger.settled_batches import SettledBatches

ReadBatches = Callable[[int, int], list[Batch]]


class PastBatches(Sequence[Batch]):
    """All batches of a ledger, in order and without a gap.

    Args:
        settled: The record of those that were not read.
        inputs: The index of the input files of those.
        rest: The batches after them.
        read: Reads batches of the ledger, from a first to a last one.
    """

    def __init__(
        self,
        settled: SettledBatches,
        inputs: InputIndex,
        rest: Sequence[Batch],
        read: ReadBatches,
    ) -> None:
        self.settled, self.inputs, self.rest = settled, inputs, rest
        self._read = read
        self._older: dict[int, Batch] = {}

    def __len__(self) -> int:
        return self.settled.last + 1 + len(self.rest)

    @overload
    def __getitem__(self, place: int) -> Batch: ...

    @overload
    def __getitem__(self, place: slice) -> list[Batch]: ...

    def __getitem__(self, place: int | slice) -> Batch | list[Batch]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        if number > self.settled.last:
            return self.rest[number - self.settled.last - 1]
        if number not in self._older:
            (self._older[number],) = self._read(number, number)
        return self._older[number]


def unsettled(batches: Sequence[Batch]) -> tuple[SettledBatches | None, Sequence[Batch]]:
    """The record of the batches that were not read, and those after them."""
    if isinstance(batches, PastBatches):
        return batches.settled, batches.rest
    return None, batches


def since_start(batches: Sequence[Batch], start: int) -> list[Batch]:
    """The batches of a start and of later ones, in order.

    Args:
        start: The epoch of the start.
    """
    return [*takewhile(lambda batch: batch.start >= start, reversed(batches))][::-1]
