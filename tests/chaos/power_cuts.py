"""The power fails in a step of a run, and takes what the run's processes have not synced."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.chaos import aim as aims
from tests.chaos.aim import Aim
from tests.chaos.left_point import left_point
from tests.chaos.step_process import GROUP_STEPS, Order, StepEnded
from tests.faults.library import Fault
from tests.faults.power import cut_power

if TYPE_CHECKING:
    from tests.chaos.campaign_history import CampaignHistory

# The share of runs in which the power fails.
SHARE = 0.5
AFTER = "after its end"


class PowerCuts:
    """Records what the processes of a run do, kills those of one step, and drops what was unsynced.

    All of them are on one host, so that the cut takes from all pipelines, wherever they were.
    """

    def __init__(self, history: CampaignHistory) -> None:
        self.history = history
        self._start = history.home / "before-the-cut"
        self._record = history.home / "recorded"
        self._step = ""

    def begin_run(self, steps: Sequence[str]) -> None:
        """Choose the step, and begin to record."""
        chance = self.history.chance("power")
        if chance.random() < SHARE:
            self._step = chance.choice([*steps, "publish"])
            shutil.copytree(self.history.root, self._start, symlinks=True)
            self.history.processes.record = self._record

    def hurt(self, step: str) -> None:
        """Let the power fail, if this is the step."""
        if step != self._step:
            return
        history, due = self.history, self.history.due(step)
        history.faults += 1
        fault = history.chance("power", step).choice((Fault.POWER, Fault.POWER_NAMES))
        groups = [due] if step in GROUP_STEPS else [(name,) for name in due]
        orders = [Order(step, one, history.run_id, self._aim(step, one)) for one in groups if one]
        since = time.time()
        found = {
            name: ended for ended in history.processes.run(orders) for name in ended.order.pipelines
        }
        points = {name: self._point(step, name, found.get(name), since) for name in history.names()}
        with history.reader.without_power():
            calls = self._record.read_text(errors="replace").splitlines()
            cut_power(history.root, self._start, calls, names=fault is Fault.POWER_NAMES)
        history.power_failed = True
        for name, point in points.items():
            history.count_as(step, name, point, fault, found.get(name))
        self.end_run()

    def end_run(self) -> None:
        """Record no more."""
        self._step = ""
        self.history.processes.record = None
        self._record.unlink(missing_ok=True)
        shutil.rmtree(self._start, ignore_errors=True)

    def _aim(self, step: str, names: Sequence[str]) -> Aim:
        chance = self.history.chance("power", step, names[0])
        if step not in GROUP_STEPS:
            return aims.in_step(chance, step, names[0])
        if step == "backfill" or chance.random() < 0.4:
            return replace(aims.anywhere_in_group(chance, step), group=True)
        point = chance.choice([*aims.POINTS])
        return replace(aims.at_point(chance, point, chance.choice(names)), group=True)

    def _point(self, step: str, name: str, ended: StepEnded | None, since: float) -> str:
        if ended is None or not ended.harmed:
            return AFTER
        if step == "ingest":
            return left_point(self.history.layout(name), since, self.history.run_id)
        return ended.order.aim.point if ended.order.aim else AFTER
