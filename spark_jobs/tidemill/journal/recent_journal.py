"""The part of the journal after settled history, found without listing its folder."""

from collections.abc import Collection
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.journal.event import Applied
from tidemill.journal.journal import Journal
from tidemill.journal.settled import Settled, read_settled
from tidemill.storage.folders import has_file

# Events may be gone from the folder, which must not hide those after them. The number of a hidden
# one would be given out again.
GAP = 64


def read_journal(layout: Layout, targets: Collection[str]) -> Journal:
    """The journal of a pipeline after what is settled; all of it where nothing is.

    Args:
        targets: The names of the targets that the caller asks for.
    """
    settled = read_settled(layout, targets)
    return Journal(layout.journal) if settled is None else RecentJournal(layout.journal, settled)


def read_news(layout: Layout, targets: Collection[str]) -> Journal:
    """As `read_journal`, with every event that consumers may not have been told of."""
    settled = read_settled(layout, targets)
    journal = Journal(layout.journal)
    if settled is None or not journal.is_announced(settled.seq):
        return journal
    return RecentJournal(layout.journal, settled)


class RecentJournal(Journal):
    """The journal after settled history: what it lists are the events with greater numbers.

    A single event can be asked for by any number.

    Args:
        settled: What is settled; its targets are the only ones that are looked for.
    """

    def __init__(self, folder: Path, settled: Settled) -> None:
        super().__init__(folder)
        self._settled = settled
        self._newest = settled.seq

    def numbered(self, suffix: str = ".json") -> list[tuple[int, Path]]:
        numbers = range(self._settled.seq + 1, self.newest() + 1)
        names = ((number, f"{number:06d}{suffix}") for number in numbers)
        return [(n, self.folder / name) for n, name in names if has_file(self.folder, name)]

    def newest(self) -> int:
        number = self._newest
        while number < self._newest + GAP:
            number += 1
            if has_file(self.folder, f"{number:06d}.json"):
                self._newest = number
        return self._newest

    def missing(self) -> list[int]:
        there = {number for number, _ in self.numbered()}
        return sorted({*range(self._settled.seq + 1, self.newest() + 1)} - there)

    def targets_of(self, seq: int) -> list[str]:
        found = (name for name in self._settled.targets if self._record_of(seq, name).exists())
        return sorted(found)

    def last_applied(self, target: str) -> int:
        return max(self.applied_by(target), default=self._settled.seq)

    def published(self, after: int = 0) -> dict[int, Applied]:
        found: dict[int, Applied] = {}
        for number, _ in self.numbered():
            applied = (self.applied(number, name) for name in self.targets_of(number))
            head = next((one for one in applied if one is not None and one.head), None)
            if number > after and head is not None:
                found[number] = head
        return found

    def _record_of(self, seq: int, target: str) -> Path:
        return self.folder / f"{seq:06d}.{target}.json"
