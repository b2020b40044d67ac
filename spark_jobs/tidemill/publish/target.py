"""The interface of a publish target, which applies the journal's events in order, each once.

A target of one's own is one file, `spark_jobs/targets/<module>.py` in the project, with a class
that has the members `find` and `apply`, and is named in the spec as

    publish: [{kind: delta}, {kind: python, target: "<module>:<Class>", options: {…}}]

It is made again for each publish, with `options` as a mapping and the keyword arguments `pipeline`
(its name), `epoch` (of the lease) and `say` (takes a line for the task log). How to add a kind that
Tidemill brings along is in `docs/adding-a-target.md`.

What `Event.kind` says is how its rows change the target: those of an `increment` come after what is
there, a `reject` has none and only moves the head on, those of a `swap` take the place of the rows
of `event.recomputation.partitions` (None: of none), those of a `replace` of all. The class gets
swaps and replacements only if it says `swaps = True`; otherwise a backfill is refused before it
starts.

A target that can keep its head beside its rows compares and commits both at once: an event it has
is a no-op, one that is not its next is refused (`NotOurTurn`), an epoch older than the newest it
has seen is fenced out (`LeaseLost`). One that cannot says so in its docstring and gives readers
what they need to drop repeats. `tidemill.publish.target_kit` has checks of all this for a test.
"""

from typing import Protocol

from tidemill.contract.errors import LeaseLost, Refused, TransientError
from tidemill.journal.journal import Event
from tidemill.publish.payload import Payload

__all__ = [
    "Event",
    "HeadUnexplained",
    "LeaseLost",
    "NotOurTurn",
    "Payload",
    "Refused",
    "SwapUnfit",
    "Target",
    "TargetUnreachable",
    "TransientError",
]


class NotOurTurn(Refused):
    """An event was offered out of order; carries `head` and `first`."""


class HeadUnexplained(Refused):
    """A target counts batches as published that it does not hold; carries `head`."""


class SwapUnfit(Refused):
    """A target cannot put rows in the place of others; carries `targets`."""


class TargetUnreachable(TransientError):
    """The server does not answer, or lost us on the way; carries `target`."""


class Target(Protocol):
    """One place that consumers read."""

    @property
    def name(self) -> str:
        """Its name in the journal."""
        ...

    def find(self, event: Event) -> int | None:
        """The version in which an event is visible here already; None where it is not, or unknown.

        Asked first: what is visible needs no audit, and its files may be compacted away.
        """
        ...

    def apply(self, event: Event, payload: Payload) -> int:
        """Make an event visible, once; its version here is returned.

        Raises:
            Refused: the event is not the next one, or the target cannot take it as it is.
            TransientError: another writer was faster, this one was fenced out, or the target
                cannot be reached.
        """
        ...
