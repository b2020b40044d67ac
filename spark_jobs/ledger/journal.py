"""The journal: the one ordered list of what goes out, which every target applies from its own head.

`journal/000007.json` is an event; `000007.<target>.json` says that a target has applied it, with
what it made of it; `000007.announced` that its asset event was sent.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.ledger import documents

HEAD_TARGET = "delta"


class Event(BaseModel):
    """One publish event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    kind: Literal["increment"] = "increment"
    increment: int
    generation: str
    first: int
    last: int
    rows: int
    rejected: int
    files_hash: str
    verdict: dict[str, Any]
    release: dict[str, Any] | None
    run_id: str
    at: datetime


class Applied(BaseModel):
    """What a target made of an event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    target: str
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

    def events(self) -> list[Event]:
        found = (documents.read(path, Event) for _, path in documents.numbered(self.folder))
        return [event for event in found if event is not None]

    def append(self, event: Event) -> bool:
        """Add the next event; False where another writer was first."""
        return documents.put_if_absent(self.folder / f"{event.seq:06d}.json", event)

    def applied(self, seq: int, target: str = HEAD_TARGET) -> Applied | None:
        return documents.read(self.folder / f"{seq:06d}.{target}.json", Applied)

    def record(self, applied: Applied) -> bool:
        name = f"{applied.seq:06d}.{applied.target}.json"
        return documents.put_if_absent(self.folder / name, applied)

    def of_increment(self, number: int) -> Event | None:
        return next((event for event in self.events() if event.increment == number), None)

    def unannounced(self) -> tuple[Event, ...]:
        """Events that are visible to consumers and that nobody has been told of."""
        return tuple(
            event
            for event in self.events()
            if self.applied(event.seq) and not self._announcement(event.seq).exists()
        )

    def announce(self, seq: int) -> bool:
        return documents.put_if_absent(self._announcement(seq), Announced(at=datetime.now(UTC)))

    def _announcement(self, seq: int) -> Path:
        return self.folder / f"{seq:06d}.announced"
