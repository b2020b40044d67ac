"""The Kafka broker goes while a step reads it, and comes back: in time, or after the step."""

from __future__ import annotations

import json
import os
import signal
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.chaos import aim as aims
from tests.chaos.aim import Aim
from tests.chaos.blow import Blow
from tests.chaos.campaign_pipelines import events_of
from tests.chaos.step_process import GROUP_STEPS, Order
from tests.faults.library import Fault
from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record

if TYPE_CHECKING:
    from tests.chaos.campaign_history import CampaignHistory

# The kind of its blows.
BROKER = "broker"
# How likely it goes in a step; a gate asks no broker.
SHARES = {"doctor": 0.5, "ingest": 0.9, "backfill": 0.9, "gate": 0.0, "publish": 0.5}
STOPPED, KILLED, PAUSED = "broker stopped", "broker killed", "broker paused"
# Seconds after which it comes back in time: less than its clients wait.
MOMENT = 1.0


class BrokerAbsences:
    """Holds the step's process at a call, takes the broker away, and lets the process go on.

    Attributes:
        name: The topic's that the history's pipeline reads, a new one.
    """

    def __init__(self, history: CampaignHistory, broker: Broker) -> None:
        self.history = history
        self.broker = broker
        self.name = f"campaign-{uuid.uuid4().hex[:12]}"
        broker.create_topic(self.name)

    @property
    def connection(self) -> dict[str, str]:
        """The broker's, as a variable of processes."""
        extra = {"bootstrap.servers": self.broker.bootstrap}
        connection = {"conn_type": "kafka", "extra": extra}
        return {"AIRFLOW_CONN_TIDEMILL_KAFKA": json.dumps(connection)}

    def deliver(self, number: int) -> None:
        """Write what an input file holds as records."""
        values = [json.dumps(event) for event in events_of(number)]
        self.broker.produce(self.name, [Record(None, value) for value in values])

    def begin_run(self, steps: Sequence[str]) -> None:
        """Nothing is chosen before a step."""

    def hurt(self, step: str) -> None:
        """Take the broker away in a step of a pipeline that reads it, if the seed says so."""
        history, due = self.history, self.history.due(step)
        names = [one.name for one in history.pipelines if one.reads_kafka and one.name in due]
        chance = history.chance("broker", step)
        if not names or chance.random() >= SHARES[step]:
            return
        history.faults += 1
        how, in_time = chance.choice((STOPPED, KILLED, PAUSED)), chance.random() < 0.4
        name = names[0]
        pipelines = due if step in GROUP_STEPS else (name,)
        order = Order(step, tuple(pipelines), history.run_id, self._aim(step, name))
        (held,) = history.processes.run([order])
        if held.code is not None:
            history.ended.missed += 1
            return
        with self._away(how, in_time=in_time):
            history.processes.wake(held)
        history.refuse_refusals(step, due)
        came_of_it = f"back {'in time' if in_time else 'later'}, " + (
            "failed" if name in history.due(step) else "went on"
        )
        mode = next(one.mode for one in history.pipelines if one.name == name)
        seed, point = history.ended.seed, order.aim.point if order.aim else ""
        history.count(
            Blow(
                seed,
                history.faults,
                step,
                name,
                mode,
                how,
                point,
                order.aim,
                held.hit or "",
                came_of_it,
            )
        )

    def end_run(self) -> None:
        """It is back already."""

    @contextmanager
    def _away(self, how: str, *, in_time: bool) -> Iterator[None]:
        """The broker is gone for a moment, or for as long as the block runs."""
        self._take(how)
        back = threading.Timer(MOMENT, self._give, (how,))
        if in_time:
            back.start()
        try:
            yield
        finally:
            if in_time:
                back.join()
            else:
                self._give(how)

    def _take(self, how: str) -> None:
        if how == PAUSED:
            self._signal(signal.SIGSTOP)
        elif how == KILLED:
            self.broker.kill()
        else:
            self.broker.stop()

    def _give(self, how: str) -> None:
        if how == PAUSED:
            self._signal(signal.SIGCONT)
        else:
            self.broker.start()

    def _signal(self, number: signal.Signals) -> None:
        assert self.broker.pid is not None
        os.killpg(self.broker.pid, number)

    def _aim(self, step: str, name: str) -> Aim:
        chance = self.history.chance("broker", step, name)
        if step == "doctor":
            # Its sources are asked among its last calls.
            return Aim("random", Fault.STOP, f"* {name}/*", chance.randint(1, 10))
        if step == "publish":
            found = aims.in_step(chance, step, name)
        elif step == "backfill":
            found = aims.anywhere_in_group(chance, step)
        else:
            found = aims.at_point(chance, chance.choice([*aims.POINTS][:9]), name)
        return replace(found, fault=Fault.STOP, group=True)
