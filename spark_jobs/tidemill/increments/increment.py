"""An increment: a sealed set of batches with its verdicts and a person's decision."""

from dataclasses import dataclass
from enum import StrEnum

from tidemill.increments.records import Rejection, Release, Sealed, Verdict


class State(StrEnum):
    """The state of an increment that is not in the journal yet."""

    SEALED = "sealed"
    PASSED = "passed"
    HELD = "held"
    RELEASED = "released"
    REJECTED = "rejected"
    DROPPED = "dropped"
    SUPERSEDED = "superseded"

    @property
    def closed(self) -> bool:
        """Whether nothing of it will go out, not even an event without rows."""
        return self in (State.DROPPED, State.SUPERSEDED)

    @property
    def without_rows(self) -> bool:
        """Whether none of its rows will go out; of a rejected one an event does."""
        return self is State.REJECTED or self.closed


@dataclass(frozen=True)
class Increment:
    """A sealed set of batches, its verdicts and the decision of a person.

    Args:
        superseded: Whether another increment replaces it.
    """

    sealed: Sealed
    verdicts: tuple[Verdict, ...]
    release: Release | None
    rejection: Rejection | None = None
    superseded: bool = False

    @property
    def number(self) -> int:
        return self.sealed.increment

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that counts: the last under the newest lease.

        A judge that was paused and lost the lease may write its verdict after a newer one.
        """
        return sorted(self.verdicts, key=lambda one: one.epoch)[-1] if self.verdicts else None

    @property
    def state(self) -> State:
        if self.superseded:
            return State.SUPERSEDED
        if self.rejection is not None:
            return State.DROPPED if self.dropped else State.REJECTED
        if self.release is not None:
            return State.RELEASED
        if self.verdict is None:
            return State.SEALED
        return State.PASSED if self.verdict.outcome == "passed" else State.HELD

    @property
    def may_go_out(self) -> bool:
        """Whether it may be added to the journal; for a rejected one the event has no rows."""
        return self.state in (State.PASSED, State.RELEASED, State.REJECTED)

    @property
    def dropped(self) -> bool:
        """Whether it was rejected and nothing of it goes out, not even an event.

        What takes the place of published rows has no input of its own that could be left out.
        """
        return self.rejection is not None and not self.sealed.in_order
