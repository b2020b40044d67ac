"""Run options that are not part of the spec."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidemill.ledger.batch import Batch
from tidemill.spec.settings import Trigger
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind

Rows = list[dict[str, Any]]


def never() -> None:
    """A query that runs until its input ends."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run.

    Args:
        trigger: When it takes its batches; the spec's where not given.
        stop: Why it is to end now, or None; asked after each batch and some times a second.
        show: Gets each batch with some of its rows; not called where not given.
        limit: Most rows of a batch that are shown.
    """

    trigger: StreamTrigger | None = None
    stop: Callable[[], str | None] = never
    show: Callable[[Batch, Rows], None] | None = None
    limit: int = 20

    def trigger_of(self, spec_trigger: Trigger) -> StreamTrigger:
        """The trigger to start with."""
        if self.trigger is not None:
            return self.trigger
        once = spec_trigger is Trigger.ONCE
        return StreamTrigger(TriggerKind.ONCE if once else TriggerKind.AVAILABLE_NOW)
