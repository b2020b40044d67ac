"""The state of each increment: judged, held, released, published or waiting."""

from datetime import datetime
from typing import Literal

from tidemill.contract.document import FrozenModel
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import lost_race
from tidemill.journal.journal import Applied
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange
from tidemill.ledger.run_kinds import RecomputationKind

IncrementState = Literal[
    "sealed", "passed", "held", "released", "rejected", "dropped", "superseded", "published"
]


class IncrementStatus(FrozenModel):
    """An increment and what became of it.

    Attributes:
        state: `passed` and `released` mean: not yet published. `dropped` is a recomputation that
            was rejected, of which nothing goes out.
        since: When it came into this state, UTC.
        version: The version of the published table; None until it is published.
        verdict: The last one; None until it is judged.
        engine: The engine that judged.
        reasons: Why it was held.
        behind: The increment that must go out before this one can; None if none is in the way.
        released_by: Who released it, None where no person did.
        release_reason: Why.
        place: Where its files are: elsewhere, if it was computed again.
        recomputation: The kind of its recomputation; None for live batches.
        partitions: The partitions it replaces; None where it replaces none.
        decided_by: Who had it computed again, rejected or released it, as they say; None if
            no person did.
        os_user: Operating-system user of that process; None in older documents.
        event: The number of its event in the journal; None as long as it has none.
        lost_race: Why it must be computed again before it can go out; None where it need not.
    """

    increment: int
    generation: str
    first: int
    last: int
    rows: int
    rejected: int
    state: IncrementState
    since: datetime
    version: int | None
    verdict: Literal["passed", "held"] | None
    engine: str | None
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    behind: int | None
    run_id: str
    released_by: str | None
    release_reason: str | None
    recomputation: RecomputationKind | None = None
    partitions: Partitions | None = None
    place: BatchRange
    decided_by: str | None = None
    os_user: str | None = None
    event: int | None = None
    lost_race: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it still has to go out or to be passed over."""
        return self.version is None and self.state not in ("dropped", "superseded")


def read_increments(snapshot: Snapshot) -> tuple[IncrementStatus, ...]:
    """Every increment, in order."""
    events = {number: event.seq for number, event in snapshot.event_of.items()}
    applied = {number: snapshot.published.get(seq) for number, seq in events.items()}
    behind: dict[int, int | None] = {}
    in_the_way: int | None = None
    for increment in snapshot.in_order():
        number = increment.number
        behind[number] = in_the_way
        if in_the_way is None and number not in applied and not increment.may_go_out:
            in_the_way = number
    found = []
    for one in snapshot.increments:
        status = _status(one, applied.get(one.number), behind.get(one.number))
        event, lost = events.get(one.number), None
        if event is None and one.may_go_out and not one.sealed.in_order:
            lost = lost_race(snapshot, one)
        found.append(status.model_copy(update={"event": event, "lost_race": lost}))
    return tuple(found)


def _status(
    increment: Increment, applied: Applied | None, in_the_way: int | None
) -> IncrementStatus:
    sealed, verdict, release = increment.sealed, increment.verdict, increment.release
    decided = increment.release or increment.rejection or increment.sealed.recomputation
    place, recomputation, rejection = sealed.covers, sealed.recomputation, increment.rejection
    # A rewind has undone what was published and is superseded.
    if applied is not None and rejection is None and not increment.superseded:
        state: IncrementState = "published"
        since = applied.at
    else:
        state = increment.state.value
        since = sealed.sealed if verdict is None else verdict.judged
        since = since if release is None else release.released
        since = since if rejection is None else rejection.rejected
    return IncrementStatus(
        increment=sealed.increment,
        generation=place.generation,
        first=place.first,
        last=place.last,
        recomputation=None if recomputation is None else recomputation.kind,
        partitions=None if recomputation is None else recomputation.partitions,
        place=sealed.stored_in,
        rows=sealed.rows,
        rejected=sealed.rejected,
        state=state,
        since=since,
        version=None if applied is None else applied.version,
        verdict=None if verdict is None else verdict.outcome,
        engine=None if verdict is None else verdict.engine,
        reasons=() if verdict is None else verdict.reasons,
        warnings=() if verdict is None else verdict.warnings,
        behind=None if applied is not None else in_the_way,
        run_id=sealed.run_id,
        released_by=None if release is None else release.by,
        release_reason=None if release is None else release.reason,
        decided_by=None if decided is None else decided.by,
        os_user=None if decided is None else decided.os_user,
    )
