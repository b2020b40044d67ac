"""The work that waits for a run; without any, the doctor skips the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tidemill.contract.counted import counted
from tidemill.generations.generation import Generation
from tidemill.increments.increment import Increment, State
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import lost_race
from tidemill.sources.probe_result import ProbeResult

Kind = Literal["ingest", "finish", "wake", "seal", "judge", "publish", "apply", "judge_again"]


@dataclass(frozen=True)
class Work:
    """One thing to do.

    Args:
        kind: `finish` a planned batch, `wake` for what the watermark has passed, `apply` what is in
            the journal; the others as they say.
        reason: A phrase for the task log.
        increment: The increment's number, where the message is about one.
    """

    kind: Kind
    reason: str
    increment: int | None = None
    target: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For the report's facts."""
        said = {"kind": self.kind, "increment": self.increment}
        return said if self.target is None else {**said, "target": self.target}


def find_work(
    generation: Generation,
    found: Sequence[ProbeResult],
    snapshot: Snapshot,
    own: int | None,
    *,
    targets: Sequence[str],
    published: bool = True,
) -> list[Work]:
    """The pending work; empty if a run would change nothing.

    Args:
        found: A look at every source.
        own: The increment that this run sealed at an earlier try.
        targets: The names of those that are published to.
        published: Whether there is a gate; without one nothing is ever sealed.
    """
    work = []
    for look in found:
        if look.new is None:
            work.append(Work("ingest", f"source {look.source} tells a query only what is new"))
        elif look.new:
            work.append(Work("ingest", f"{look.units(look.new, 'new ')} of {look.source}"))
    if generation.unfinished:
        work.append(Work("finish", "a batch was planned and not committed"))
    elif generation.flush is not None:
        work.append(Work("wake", f"a flush by {generation.flush.by} awaits its batch"))
    elif generation.due:
        work.append(Work("wake", "the watermark has passed what an earlier batch kept"))
    if published and generation.committed > snapshot.last_sealed(generation.name):
        work.append(Work("seal", "committed batches await the gate"))
    behind = False
    for increment in snapshot.waiting():
        name = f"increment {increment.number:06d}"
        if increment.state is State.SEALED:
            # Also behind a held one: its run was killed, and no one else would judge it.
            work.append(Work("judge", f"{name} awaits its verdict", increment.number))
        elif increment.may_go_out and not behind:
            work.append(Work("publish", f"{name} awaits publishing", increment.number))
        behind = behind or not increment.may_go_out
    gone_out = snapshot.event_of
    for increment in snapshot.increments:
        if increment.sealed.in_order or increment.number in gone_out:
            continue
        name = f"increment {increment.number:06d}"
        if increment.state is State.SEALED:
            work.append(Work("judge", f"{name} awaits its verdict", increment.number))
        elif increment.may_go_out:
            work += _to_publish(snapshot, increment, name)
    for target in targets:
        lag = len(snapshot.journal.behind(target))
        if lag:
            reason = f"{target} is {counted(lag, 'event')} behind the journal"
            work.append(Work("apply", reason, target=target))
    if own is not None and own not in {*snapshot.event_of, *(one.increment for one in work)}:
        work.append(Work("judge_again", f"increment {own:06d} of this run is judged again", own))
    return work


def _to_publish(snapshot: Snapshot, increment: Increment, name: str) -> list[Work]:
    """The work on a recomputed increment that has passed, or that a person has released."""
    why = lost_race(snapshot, increment)
    if why is None:
        return [Work("publish", f"{name} awaits publishing", increment.number)]
    if increment.state is State.RELEASED:
        return [Work("publish", f"{name} is computed again: {why}", increment.number)]
    # The run that it belongs to does.
    return []
