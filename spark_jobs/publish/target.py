"""What a publish target is: something with a head that applies the journal's events in order.

To add one, write a file with a class that has these members, and a `kind` in the spec.
"""

from __future__ import annotations

from typing import Protocol

from spark_jobs.ledger.batches import Batch
from spark_jobs.ledger.journal import Event


class Target(Protocol):
    """One place that consumers read."""

    @property
    def kind(self) -> str:
        """Its name in the spec and in the journal."""
        ...

    def head(self, generation: str) -> int:
        """The last batch of a generation that consumers see here, -1 for none."""
        ...

    def apply(self, event: Event, batches: list[Batch]) -> int:
        """Make an event visible, once; its version here is returned.

        Raises:
            Refused: the event is not the next one, or its files are not the judged ones.
            TransientError: another writer was faster, or this one was fenced out.
        """
        ...
