"""Brings every target up to date: it applies the journal from its own head, in order.

A target that fails waits where it is, and the next run goes on there; the others do not wait for
it. Only the head target, the first, blocks: no other target gets ahead of it. A further target
passes over what a later event replaces, so that a rebuild helps one that can never take an event.
"""

from collections.abc import Collection, Sequence

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused, TidemillError, TransientError
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.swap_order import overtaken
from tidemill.journal.journal import Applied, Event
from tidemill.publish.outgoing_event import Outgoing
from tidemill.publish.swap_support import unable_to_swap
from tidemill.publish.target import HeadUnexplained, Target
from tidemill.storage.run_context import LeasedRun


class EventOvertaken(TransientError):
    """An event stands in the journal that may not be applied; carries `seq` and `increment`."""


class CatchUp:
    """One run's way through the journal.

    Args:
        targets: The head target first.
    """

    def __init__(self, run: LeasedRun, snapshot: Snapshot, targets: Sequence[Target]) -> None:
        self.context = run
        self.targets = targets
        self.snapshot = snapshot
        self.journal = snapshot.journal
        self.failed: dict[str, TidemillError] = {}

    def run(self) -> list[tuple[Event, Applied]]:
        """Apply what is due; what was applied, in order.

        Raises:
            TidemillError: a target could not apply an event; raised after the others have applied
                all they could. Among several errors, one that needs a person.
        """
        done = []
        due = {target.name: set(self.journal.behind(target.name)) for target in self.targets}
        events = self.snapshot.events
        for target in self.targets[1:]:
            due[target.name] -= _replaced(events, due[target.name])
        for number, event in enumerate(events):
            outgoing = Outgoing(self.context.pipeline, event, self.context.epoch)
            for target in self.targets:
                if event.seq in due[target.name] and not self._waits(target):
                    applied = self._try(target, outgoing, events[:number])
                    done += [] if applied is None else [(event, applied)]
        if self.failed:
            errors = list(self.failed.values())
            raise next((e for e in errors if not isinstance(e, TransientError)), errors[0])
        return done

    def _waits(self, target: Target) -> bool:
        return target.name in self.failed or self.targets[0].name in self.failed

    def _try(self, target: Target, outgoing: Outgoing, before: Sequence[Event]) -> Applied | None:
        try:
            return self._apply(target, outgoing, before)
        except TidemillError as error:
            self._name_the_ways_on(error, outgoing.event, target)
            self.failed[target.name] = error
            self.context.log(f"{target.name}: {error.code}: {error}")
            return None

    def _apply(self, target: Target, outgoing: Outgoing, before: Sequence[Event]) -> Applied:
        event, head = outgoing.event, target is self.targets[0]
        version = target.find(event)
        if version is None:
            if not self.journal.targets_of(event.seq):
                self._refuse_overtaken(event, before)
            payload = outgoing.payload
            # The journal may have been read, or an event put there, before the lease was lost.
            self.context.lease.check()
            if head:
                outgoing.keep_rejected()
            version = target.apply(event, payload)
        if head:
            # Also where a killed run has committed the good rows: the journal does not say so yet.
            outgoing.drop_replaced()
        elif event.kind == "replace":
            for passed_over in self.journal.behind(target.name):
                if passed_over < event.seq:
                    self._record(passed_over, target, version)
        applied = self._record(event.seq, target, version)
        self.context.log(_sentence(event, applied))
        return applied

    def _record(self, seq: int, target: Target, version: int) -> Applied:
        return self.journal.record(
            Applied(
                seq=seq,
                target=target.name,
                head=target is self.targets[0],
                version=version,
                run_id=self.context.run_id,
                at=self.context.clock(),
            )
        )

    def _name_the_ways_on(self, error: TidemillError, event: Event, target: Target) -> None:
        """Add to a refusal how to go on without the event; what the head target has stays."""
        if not isinstance(error, Refused) or isinstance(error, HeadUnexplained):
            return
        name, number = self.context.pipeline.name, event.increment
        head = self.targets[0]
        if target is not head:
            error.remedy = (
                f"{error.remedy} {head.name} has increment {number:06d}, and the other targets go "
                f"on. If {target.name} can never take it, {self._way_past_it(target)}."
            )
            return
        if event.in_order:
            ways = (
                f"tidemill redo {name} --reason TEXT computes increment {number:06d} again with "
                f"today's code, tidemill reject {name} {number} --reason TEXT leaves its input out."
            )
        else:
            ways = f"tidemill reject {name} {number} --reason TEXT drops it."
        error.remedy = f"{error.remedy} To go on without it: {ways}"

    def _way_past_it(self, target: Target) -> str:
        pipeline = self.context.pipeline
        if target.name in unable_to_swap(pipeline):
            return "remove it from publish in the spec"
        return (
            "fix the transform and compute everything again, which passes the increment over: "
            f"tidemill rebuild {pipeline.name} --reason TEXT; or remove it from publish in the spec"
        )

    def _refuse_overtaken(self, event: Event, before: Sequence[Event]) -> None:
        why = overtaken(self.snapshot, event, before)
        if why is not None:
            raise EventOvertaken(
                f"Event {event.seq} of the journal, of increment {event.increment:06d}, came too "
                f"late: {why}.",
                remedy="The next try withdraws it.",
                seq=event.seq,
                increment=event.increment,
            )


def _replaced(events: Sequence[Event], due: Collection[int]) -> set[int]:
    """The events that a target need not apply: the whole table is replaced after them."""
    whole = [event.seq for event in events if event.kind == "replace" and event.seq in due]
    return {seq for seq in due if whole and seq < whole[-1]}


def _sentence(event: Event, applied: Applied) -> str:
    number = f"increment {event.increment:06d}"
    what = f"{counted(event.rows, 'row')}"
    if event.kind == "reject":
        what = "rejected, none of its rows"
    elif event.kind == "replace":
        what = f"{counted(event.rows, 'row')} in the place of the whole table"
    elif event.recomputation is not None and event.recomputation.partitions is not None:
        what = f"{counted(event.rows, 'row')} in the place of {event.recomputation.partitions}"
    if not applied.head:
        return f"{applied.target}: {number}, {what}"
    said = f"{number}: {what} in version {applied.version}"
    return said if event.kind == "reject" else f"{said}, {event.rejected:,} rejected"
