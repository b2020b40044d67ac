"""The journal: the one ordered list of what goes out, which every target applies from its own head.

`journal/000007.json` is an event; `000007.<target>.json` says that a target has applied it, with
what it made of it; `000007.announced` that its asset event was sent. An event is published when the
head target, the first of the spec, has applied it; that is written down with it, so that readers
need no spec, and a head target that is named later does not unpublish what was published.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.ledger import documents
from spark_jobs.ledger.made import Made, Place

EventKind = Literal["increment", "reject", "swap", "replace"]


class Event(BaseModel):
    """One publish event.

    Attributes:
        kind: `increment` adds the rows of the next batches, `reject` says that they never come,
            `swap` puts rows in the place of whole partitions, `replace` in the place of all.
        generation: Of the batches that it stands for.
        first: The first of them; of a swap 0.
        last: The last of them.
        files: Where its files lie, if not in these batches.
        made: Why it is no run of live batches; None where it is one.
        rejection: Of a `reject`: who decided it, and why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    kind: EventKind = "increment"
    increment: int
    generation: str
    first: int
    last: int
    files: Place | None = None
    made: Made | None = None
    rows: int
    rejected: int
    files_hash: str
    verdict: dict[str, Any]
    release: dict[str, Any] | None
    rejection: dict[str, Any] | None = None
    run_id: str
    at: datetime

    @property
    def place(self) -> Place:
        """Where its files lie."""
        own = Place(generation=self.generation, first=self.first, last=self.last)
        return self.files or own

    @property
    def in_order(self) -> bool:
        """Whether it moves a target's head on to its last batch."""
        return self.kind in ("increment", "reject")


class Applied(BaseModel):
    """What a target made of an event.

    Attributes:
        target: Its name.
        head: Whether it was the one whose head says what consumers see.
        version: Of the target, after it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    target: str
    head: bool = True
    version: int
    run_id: str
    at: datetime


class Announced(BaseModel):
    """That consumers were told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime


class Journal:
    """The journal of one pipeline.

    Args:
        folder: `Layout.journal`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def events(self, after: int = 0) -> list[Event]:
        """The events in order: all, or those with a greater number."""
        numbered = documents.numbered(self.folder)
        found = (documents.read(path, Event) for number, path in numbered if number > after)
        return [event for event in found if event is not None]

    def append(self, event: Event) -> None:
        """Add the next event.

        Raises:
            AlreadyWritten: another writer was first.
        """
        documents.put(event_file(self.folder, event.seq), event)

    def applied(self, seq: int, target: str) -> Applied | None:
        """What a target made of an event, None where it has not applied it."""
        return documents.read(self.folder / f"{seq:06d}.{target}.json", Applied)

    def behind(self, target: str) -> list[int]:
        """The numbers of the events that a target has still to apply, in order."""
        names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        numbers = [number for number, _ in documents.numbered(self.folder)]
        return [number for number in numbers if f"{number:06d}.{target}.json" not in names]

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

    def of_increment(self, number: int) -> Event | None:
        return next((event for event in self.events() if event.increment == number), None)

    def unannounced(self) -> tuple[Event, ...]:
        """Events that are visible to consumers and that nobody has been told of."""
        published = self.published()
        return tuple(
            event
            for event in self.events()
            if event.seq in published and not self._announcement(event.seq).exists()
        )

    def announce(self, seq: int) -> None:
        """Write down that consumers were told of an event, once."""
        documents.put_if_absent(self._announcement(seq), Announced(at=datetime.now(UTC)))

    def _announcement(self, seq: int) -> Path:
        return self.folder / f"{seq:06d}.announced"


def event_file(folder: Path, seq: int) -> Path:
    """Where an event of a journal lies."""
    return folder / f"{seq:06d}.json"
