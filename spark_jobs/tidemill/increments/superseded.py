"""Which increments are superseded: another one holds their batches, or a fork runs them again."""

from collections.abc import Sequence

from tidemill.increments.records import Sealed
from tidemill.journal.journal import Journal
from tidemill.journal.recomputation import Recomputation
from tidemill.journal.takeovers import Takeover
from tidemill.ledger.run_kinds import FORKED


def superseded(
    journal: Journal, takeovers: Sequence[Takeover], increments: Sequence[Sealed]
) -> frozenset[int]:
    """The numbers of the increments that others replace.

    Between a redo and the increments that it was to replace, what consumers have seen decides.
    """
    found = {number for takeover in takeovers for number in takeover.supersedes}
    for sealed in increments:
        if sealed.in_order and any(_left_behind(takeover, sealed) for takeover in takeovers):
            found.add(sealed.increment)
        recomputation = sealed.recomputation
        if recomputation is not None and recomputation.supersedes:
            late = recomputation.in_order and _is_too_late(journal, sealed.increment, recomputation)
            found.update([sealed.increment] if late else recomputation.supersedes)
    return frozenset(found)


def _left_behind(takeover: Takeover, sealed: Sealed) -> bool:
    """Whether a fork or rewind continues before an increment's last batch, whoever sealed it."""
    batches = sealed.covers
    is_of = takeover.kind in FORKED and batches.generation == takeover.predecessor
    return is_of and batches.last >= takeover.first


def _is_too_late(journal: Journal, redo: int, recomputation: Recomputation) -> bool:
    """Whether an increment that a redo was to replace was published before the redo."""
    # Events up to that number were known when it was computed.
    for event in journal.following(recomputation.seq):
        if event.increment == redo:
            return False
        if event.increment in recomputation.supersedes and journal.is_published(event.seq):
            return True
    return False
