"""Input files that erased rows were read from: they are not Tidemill's to change."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.clean_source import located


@dataclass(frozen=True)
class InputLeft:
    """The input files of batches.

    Args:
        there: Those that are where they were, or in the archive, as they were read.
        gone: How many are not.
    """

    there: tuple[Path, ...]
    gone: int


def input_left(layout: Layout, batches: Iterable[tuple[str, int]]) -> InputLeft:
    """The files that batches have read.

    Args:
        batches: Generation and number of each.
    """
    there: dict[Path, None] = {}
    gone = 0
    for generation, number in batches:
        ledger = Ledger(layout, generation)
        for batch in ledger.batches(number, number):
            for file in batch.inputs:
                place = file.on_disk
                at = place if file.is_at(place) else located(ledger, batch.batch, file)
                if at is None:
                    gone += 1
                else:
                    there[at] = None
    return InputLeft(tuple(sorted(there)), gone)
