"""What is said of a run that has nothing to do."""

from typing import Any

from tidemill.contract.report import Outcome
from tidemill.increments.increment import Increment, State
from tidemill.increments.snapshot import Snapshot
from tidemill.steps.parts.run import Ended


def idle(snapshot: Snapshot, facts: dict[str, Any], *, ran: bool) -> Ended:
    """Skip a run without work; a held increment is named, first one that others wait behind."""
    visible = snapshot.visible
    held = [
        one for one in snapshot.increments if one.state is State.HELD and one.number not in visible
    ]
    held.sort(key=lambda one: not one.sealed.in_order)
    if not held:
        reason = "nothing new since the last run" if ran else "nothing has arrived yet"
        return Ended(Outcome.SKIPPED, reason, facts)
    first = held[0]
    since = first.verdict.judged if first.verdict else first.sealed.sealed
    recomputation = first.sealed.recomputation
    what = "" if recomputation is None else f", of a {recomputation.kind},"
    reason = (
        f"nothing new; increment {first.number:06d}{what} is held since {since:%Y-%m-%d %H:%M}: "
        f"{_decided_by(snapshot.layout.name, first)}"
    )
    held_facts = {"held": first.number, "held_since": since.isoformat()}
    return Ended(Outcome.SKIPPED, reason, {**facts, **held_facts})


def _decided_by(name: str, held: Increment) -> str:
    """How a held increment stops being held."""
    if held.sealed.in_order:
        return f"tidemill status {name} shows why; release, reject or redo it"
    number = held.number
    return (
        f"tidemill release {name} {number} --reason TEXT lets it out, tidemill reject {name} "
        f"{number} --reason TEXT drops it; nothing waits behind it"
    )
