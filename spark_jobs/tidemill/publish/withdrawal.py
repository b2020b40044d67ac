"""Taking events back out of the journal, which is possible as long as no target has applied them.

An event that was overtaken could be applied by no target, and all later ones would wait behind it;
so publish withdraws it. Any other event is withdrawn by a person (`tidemill journal withdraw`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tidemill.contract.log import Log
from tidemill.journal.journal import Event, Journal, Withdrawal
from tidemill.publish.delta.commit import fence
from tidemill.publish.rejected.table import RejectedTable
from tidemill.publish.swap_order import overtaken
from tidemill.publish.target import HeadUnexplained, Target
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import Lease


def withdraw_overtaken(
    pipeline: Pipeline,
    targets: Sequence[Target],
    lease: Lease,
    run_id: str,
    log: Log,
) -> None:
    """Withdraw every event that came too late and that no target has applied.

    Args:
        pipeline: The pipeline of the journal.
        targets: The pipeline's targets.
        lease: Held by the caller.
        run_id: The run's id.
        log: Gets a line for each of them.

    Raises:
        LeaseLost: a newer epoch took over.
        TargetUnreachable: it is unknown whether a target has such an event.
    """
    journal = Journal(pipeline.layout.journal)
    due = set(journal.behind(targets[0].name)) if targets else set()
    before: list[Event] = []
    for event in journal.events() if due else ():
        why = None
        if event.seq in due and not journal.targets_of(event.seq):
            why = overtaken(pipeline.layout, event, before)
        if why is None or target_that_has(pipeline, event, targets, lease) is not None:
            before.append(event)
            continue
        withdraw_event(pipeline, event, lease, run_id=run_id, reason=why)
        log(f"event {event.seq}, of increment {event.increment:06d}, is withdrawn: {why}")


def target_that_has(
    pipeline: Pipeline, event: Event, targets: Sequence[Target], lease: Lease
) -> str | None:
    """The name of a target that has an event, be it written down or not; None where none has.

    A writer that has lost the lease cannot commit to a Delta table after this look.
    """
    lease.check()
    for table in (pipeline.layout.table, pipeline.layout.rejected):
        fence(table, lease.epoch)
    noted = Journal(pipeline.layout.journal).targets_of(event.seq)
    having = (target.name for target in targets if _holds(target, event))
    return noted[0] if noted else next(having, None)


def withdraw_event(
    pipeline: Pipeline, event: Event, lease: Lease, *, run_id: str, reason: str, by: str = ""
) -> Withdrawal:
    """Take an event out of the journal that no target has.

    Args:
        pipeline: The pipeline of the journal.
        event: The event.
        lease: Held by the caller.
        run_id: The run's id.
        reason: Why.
        by: The person; empty where it came too late.

    Raises:
        LeaseLost: a newer epoch took over.
    """
    RejectedTable(pipeline.layout, lease.epoch).take_back(event)
    lease.check()
    return Journal(pipeline.layout.journal).withdraw(
        Withdrawal(
            seq=event.seq,
            by=by,
            reason=reason,
            run_id=run_id,
            epoch=lease.epoch,
            at=datetime.now(UTC),
        )
    )


def _holds(target: Target, event: Event) -> bool:
    try:
        return target.find(event) is not None
    except HeadUnexplained:
        # It counts the event's batches, and they are others.
        return False
