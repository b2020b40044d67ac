"""Withdraws events from the journal, which is possible as long as no target has applied them.

No target may apply an event that came too late, and all later events would wait behind it; so
publish withdraws it. A person withdraws any other event (`tidemill journal withdraw`).
"""

from collections.abc import Sequence

from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import overtaken
from tidemill.journal.journal import Event, Journal, Withdrawal
from tidemill.publish.delta.commit import fence
from tidemill.publish.rejected.table import RejectedTable
from tidemill.publish.target import HeadUnexplained, Target
from tidemill.storage.run_context import LeasedRun


def withdraw_overtaken(run: LeasedRun, snapshot: Snapshot, targets: Sequence[Target]) -> None:
    """Withdraw every event that came too late or is replaced, and that no target has applied.

    Args:
        run: The run; its log gets a line for each of them.
        snapshot: Read under the lease; it is read again after an event was withdrawn.

    Raises:
        LeaseLost: a newer epoch took over.
        TargetUnreachable: it is unknown whether a target has such an event.
    """
    journal = snapshot.journal
    due = set(journal.behind(targets[0].name)) if targets else set()
    before: list[Event] = []
    events = [*snapshot.events] if due else []
    for place, event in enumerate(events):
        why = None
        if event.seq in due and not journal.targets_of(event.seq):
            why = overtaken(snapshot, event, before) or _replaced(event, events[place + 1 :])
        if why is None or target_that_has(run, event, targets) is not None:
            before.append(event)
            continue
        withdraw_event(run, event, reason=why)
        # Without it other increments may be superseded, and another generation live.
        snapshot.read()
        run.log(f"event {event.seq}, of increment {event.increment:06d}, is withdrawn: {why}")


def _replaced(event: Event, later: Sequence[Event]) -> str | None:
    """The reason why a swap need not be applied: the whole table is replaced after it."""
    whole = next((one for one in later if one.kind == "replace"), None)
    if event.in_order or whole is None:
        # Increments that a rebuild replaces are superseded.
        return None
    return f"event {whole.seq}, of increment {whole.increment:06d}, replaces the whole table"


def target_that_has(run: LeasedRun, event: Event, targets: Sequence[Target]) -> str | None:
    """The name of a target that has an event, be it written down or not; None where none has.

    A writer that has lost the lease cannot commit to a Delta table after this look.
    """
    run.lease.check()
    for table in (run.layout.table, run.layout.rejected):
        fence(table, run.epoch)
    noted = Journal(run.layout.journal).targets_of(event.seq)
    having = (target.name for target in targets if _holds(target, event))
    return noted[0] if noted else next(having, None)


def withdraw_event(run: LeasedRun, event: Event, *, reason: str, by: str = "") -> Withdrawal:
    """Take an event out of the journal that no target has.

    Args:
        by: The person; empty where it came too late.

    Raises:
        LeaseLost: a newer epoch took over.
    """
    RejectedTable(run.layout, run.epoch).take_back(event)
    run.lease.check()
    return Journal(run.layout.journal).withdraw(
        Withdrawal(
            seq=event.seq,
            by=by,
            reason=reason,
            run_id=run.run_id,
            epoch=run.epoch,
            at=run.clock(),
        )
    )


def _holds(target: Target, event: Event) -> bool:
    try:
        return target.find(event) is not None
    except HeadUnexplained:
        # It counts the event's batches, and they are others.
        return False
