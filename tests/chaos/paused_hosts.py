"""A step on another host is stopped, succeeded here, and continued: it must be fenced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.chaos import aim as aims
from tests.chaos.aim import Aim
from tests.chaos.left_point import DONE, IDLE, left_point
from tests.chaos.step_process import GROUP_STEPS, Order, StepEnded
from tests.faults.library import Fault

if TYPE_CHECKING:
    from tests.chaos.campaign_history import CampaignHistory

# How likely a step of a run is stopped; two Spark applications cost more than two publishes.
SHARES = {"doctor": 0.2, "ingest": 0.25, "backfill": 0.25, "gate": 0.4, "publish": 0.5}


@dataclass(frozen=True)
class _Stopped:
    step: str
    process: StepEnded
    points: dict[str, str]


class PausedHosts:
    """Stops the processes of a step at a call, and continues them after others did their work.

    They are continued at once when the step has ended here, or at the end of the run.
    """

    def __init__(self, history: CampaignHistory) -> None:
        self.history = history
        self._stopped: list[_Stopped] = []

    def begin_run(self, steps: Sequence[str]) -> None:
        """Nothing is chosen before a step."""

    def hurt(self, step: str) -> None:
        """Stop the step elsewhere, and let it end well here, if the seed says so."""
        history, due = self.history, self.history.due(step)
        chance = history.chance("hosts", step)
        if not due or chance.random() >= SHARES[step]:
            return
        history.faults += 1
        groups = [due] if step in GROUP_STEPS else [(name,) for name in due]
        orders = [
            Order(step, one, history.run_id, self._aim(step, one), elsewhere=True) for one in groups
        ]
        since = time.time()
        stopped = [ended for ended in history.processes.run(orders) if ended.code is None]
        history.ended.missed += not stopped
        self._stopped += [
            _Stopped(step, one, {name: self._point(step, name, one, since) for name in one.names})
            for one in stopped
        ]
        history.end_well(step)
        if chance.random() < 0.5:
            self._wake()

    def end_run(self) -> None:
        """Continue those that are still stopped."""
        self._wake()

    def _wake(self) -> None:
        for stopped in self._stopped:
            woken = self.history.processes.wake(stopped.process)
            said = self.history.processes.said(woken)
            ended = "went on" if woken.code == 0 else "failed"
            came_of_it = "lost the lease" if "LeaseLost" in said else ended
            for name, point in stopped.points.items():
                if point not in (DONE, IDLE):
                    self.history.count_as(stopped.step, name, point, Fault.STOP, woken, came_of_it)
        self._stopped.clear()

    def _aim(self, step: str, names: Sequence[str]) -> Aim:
        chance = self.history.chance("hosts", step, names[0])
        if step not in GROUP_STEPS:
            found = aims.in_step(chance, step, names[0])
        elif step == "backfill" or chance.random() < 0.4:
            found = aims.anywhere_in_group(chance, step)
        else:
            point = chance.choice([*aims.POINTS][:10])
            found = aims.at_point(chance, point, chance.choice(names))
        return replace(found, fault=Fault.STOP, group=True)

    def _point(self, step: str, name: str, ended: StepEnded, since: float) -> str:
        assert ended.order.aim is not None
        if step == "ingest":
            return left_point(self.history.layout(name), since, self.history.run_id)
        return ended.order.aim.point
