"""The journal: the ordered list of events, which every target applies from its own head.

`journal/000007.json` is an event; `000007.<target>.json` says that a target has applied it, with
what it made of it; `000007.announced` that its asset event was sent. An event is published when the
head target, the first of the spec, has applied it; that is written down with it, so that readers
need no spec, and a head target that is named later does not unpublish what was published.

`000007.withdrawn` says that an event does not count, and why. Only this module sees a
withdrawn event: its number stays taken, and its increment can be put again under another.
"""

import uuid
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tidemill.contract.clock import Clock, wall_clock
from tidemill.journal.event import Announced, Applied, Event, Withdrawal
from tidemill.storage import documents

__all__ = ["Announced", "Applied", "Event", "Journal", "Withdrawal"]

WITHDRAWN = ".withdrawn"


class Journal:
    """The journal of one pipeline.

    Args:
        folder: `Layout.journal`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbered(self, suffix: str = ".json") -> list[tuple[int, Path]]:
        """The documents of one kind by the number of their event, in order."""
        return [*documents.numbered(self.folder, suffix)]

    def events(self, after: int = 0) -> list[Event]:
        """The events that count, in order: all, or those with a greater number."""
        withdrawn = {number for number, _ in self.numbered(WITHDRAWN)}
        numbered = self.numbered()
        wanted = (path for number, path in numbered if number > after and number not in withdrawn)
        found = (documents.read(path, Event) for path in wanted)
        return [event for event in found if event is not None]

    def following(self, seq: int) -> Iterator[Event]:
        """The events that count after one, in order, each read when it is asked for.

        Costs nothing that grows with the journal, as long as the caller stops early.
        """
        for number in count(seq + 1):
            if not event_file(self.folder, number).exists():
                return
            event = self.event(number)
            if event is not None:
                yield event

    def event(self, seq: int) -> Event | None:
        """One event, None where there is none that counts."""
        if self._withdrawal(seq).exists():
            return None
        return documents.read(event_file(self.folder, seq), Event)

    def before(self, seq: int) -> int:
        """The number of the event before one, 0 where that is the first that counts."""
        earlier = range(seq - 1, 0, -1)
        return next((number for number in earlier if self.event(number) is not None), 0)

    def append(self, event: Event) -> None:
        """Add an event under the number after the last one that it was decided on.

        Raises:
            AlreadyWritten: there is a later one that it was not decided on.
        """
        documents.put(event_file(self.folder, event.seq), event)

    def applied(self, seq: int, target: str) -> Applied | None:
        """A target's record of an event, None if it has not applied it."""
        return documents.read(self.folder / f"{seq:06d}.{target}.json", Applied)

    def behind(self, target: str) -> list[int]:
        """The numbers of the events that a target has still to apply, in order."""
        done = {
            number
            for suffix in (f".{target}.json", WITHDRAWN)
            for number, _ in self.numbered(suffix)
        }
        return [number for number, _ in self.numbered() if number not in done]

    def targets_of(self, seq: int) -> list[str]:
        """The names of the targets that have applied an event."""
        found = self.folder.glob(f"{seq:06d}.*.json")
        return sorted(path.name.removesuffix(".json").partition(".")[2] for path in found)

    def is_published(self, seq: int) -> bool:
        """Whether consumers see an event."""
        applied = (self.applied(seq, target) for target in self.targets_of(seq))
        return any(one is not None and one.head for one in applied)

    def newest(self) -> int:
        """The number of the last event, be it withdrawn or not; 0 for none."""
        return max((number for number, _ in self.numbered()), default=0)

    def missing(self) -> list[int]:
        """The numbers of events that were there and are not any more, in order."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        used = {int(number) for name in names if (number := name.partition(".")[0]).isdecimal()}
        there = {number for number, _ in documents.numbered(self.folder)}
        return sorted({*range(1, max(used, default=0) + 1)} - there)

    def applied_by(self, target: str) -> list[int]:
        """The numbers of the events that a target has applied, in order."""
        return [number for number, _ in self.numbered(f".{target}.json")]

    def last_applied(self, target: str) -> int:
        """The number of the last event that a target has applied, 0 for none."""
        return max(self.applied_by(target), default=0)

    def take_back(self, seq: int, target: str) -> Path:
        """Take back that a target has applied an event, which it then applies again.

        Returns:
            Where the record is kept.
        """
        record = self.folder / f"{seq:06d}.{target}.json"
        return record.rename(record.with_name(f"{record.name}.taken-back-{uuid.uuid4().hex[:8]}"))

    def published(self, after: int = 0) -> dict[int, Applied]:
        """The events that consumers see -> what the head target made of them.

        Args:
            after: Only of events with a greater number.
        """
        found: dict[int, Applied] = {}
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            number, _, target = path.name.removesuffix(".json").partition(".")
            of_target = target and path.suffix == ".json"
            if of_target and number.isdecimal() and int(number) > after:
                applied = documents.read(path, Applied)
                if applied is not None and applied.head:
                    found.setdefault(applied.seq, applied)
        return found

    def record(self, applied: Applied) -> Applied:
        """Write down what a target made of an event, once; what is written down now."""
        name = f"{applied.seq:06d}.{applied.target}.json"
        return documents.put_if_absent(self.folder / name, applied)

    def unannounced(self) -> tuple[Event, ...]:
        """Events that are visible to consumers and not announced yet."""
        published = self.published()
        return tuple(
            event
            for event in self.events()
            if event.seq in published and not self.is_announced(event.seq)
        )

    def is_announced(self, seq: int) -> bool:
        """Whether consumers were told of an event, and so of each visible one before it."""
        return self._announcement(seq).exists()

    def announce(self, seq: int, clock: Clock = wall_clock) -> None:
        """Write down that consumers were told of an event, once."""
        documents.put_if_absent(self._announcement(seq), Announced(at=clock()))

    def withdraw(self, withdrawal: Withdrawal) -> Withdrawal:
        """Write down that an event does not count, once; what is written down now."""
        return documents.put_if_absent(self._withdrawal(withdrawal.seq), withdrawal)

    def withdrawals(self) -> list[tuple[Event, Withdrawal]]:
        """The events that do not count, in order, each with what says so."""
        found = []
        for number, path in documents.numbered(self.folder, WITHDRAWN):
            event = documents.read(event_file(self.folder, number), Event)
            withdrawal = documents.read(path, Withdrawal)
            if event is not None and withdrawal is not None:
                found.append((event, withdrawal))
        return found

    def _withdrawal(self, seq: int) -> Path:
        return self.folder / f"{seq:06d}{WITHDRAWN}"

    def _announcement(self, seq: int) -> Path:
        return self.folder / f"{seq:06d}.announced"


def event_file(folder: Path, seq: int) -> Path:
    """The file of an event."""
    return folder / f"{seq:06d}.json"
