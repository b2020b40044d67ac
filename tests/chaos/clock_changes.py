"""The clock of the host is set back while a step runs, and is right again in the next run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.chaos import aim as aims
from tests.chaos.aim import Aim
from tests.chaos.step_process import GROUP_STEPS, Order
from tests.faults.library import Fault

if TYPE_CHECKING:
    from tests.chaos.campaign_history import CampaignHistory

# How likely a clock is set back in a step.
SHARE = 0.3
# A correction, an hour of a wrong zone, a day, and a battery that is empty.
SECONDS = (90, 3600, 86_400, 400 * 86_400)


class ClockChanges:
    """Sets the clock back at a call of a process, and for all that follow in the run.

    The file system's clock stays, as that of a file server does.
    """

    def __init__(self, history: CampaignHistory) -> None:
        self.history = history

    def begin_run(self, steps: Sequence[str]) -> None:
        """Nothing is chosen before a step."""

    def hurt(self, step: str) -> None:
        """Set the clock back, if the seed says so."""
        history, due = self.history, self.history.due(step)
        chance = history.chance("clock", step)
        if not due or chance.random() >= SHARE:
            return
        history.faults += 1
        seconds = chance.choice(SECONDS)
        groups = [due] if step in GROUP_STEPS else [(name,) for name in due]
        orders = [Order(step, one, history.run_id, self._aim(step, one, seconds)) for one in groups]
        found = history.processes.run(orders)
        history.ended.missed += not any(ended.hit for ended in found)
        for ended in found:
            for name in ended.order.pipelines if ended.hit else ():
                history.count_as(step, name, "random", Fault.CLOCK, ended)
        history.refuse_refusals(step, due)
        history.processes.seconds_back += seconds

    def end_run(self) -> None:
        """Set it right."""
        self.history.processes.seconds_back = 0

    def _aim(self, step: str, names: Sequence[str], seconds: int) -> Aim:
        chance = self.history.chance("clock", step, names[0])
        if step in GROUP_STEPS:
            found = aims.anywhere_in_group(chance, step)
        else:
            found = aims.in_step(chance, step, names[0])
        return replace(found, fault=Fault.CLOCK, seconds=seconds, group=True)
