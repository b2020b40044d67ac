"""A trigger in the runner that Airflow's triggerer has, and what it asks of Airflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.executors.workloads import RunTrigger
from airflow.jobs.triggerer_job_runner import TriggerRunner
from airflow.models.trigger import Trigger

from tidemill.spec.pipeline import open_pipeline
from tidemill_airflow.dags.arrivals import ArrivalTrigger

POKE = 0.02
LIMIT = 120.0


class Supervisor:
    """Answers what a trigger asks of Airflow: how many runs there are."""

    def __init__(self) -> None:
        self.active = 0
        self.asked: list[Any] = []

    def send(self, message: Any) -> Any:
        self.asked.append(message)
        return SimpleNamespace(count=self.active)


def first_sent(
    trigger: ArrivalTrigger, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """The first event that a trigger sends; before something happens it must send none."""
    looks: list[str] = []
    monkeypatch.setattr(
        "tidemill_airflow.dags.arrivals.open_pipeline",
        lambda name: looks.append(name) or open_pipeline(name),
    )

    async def history() -> list[Any]:
        runner = TriggerRunner()
        classpath, kwargs = trigger.serialize()
        stored = Trigger(classpath=classpath, kwargs=kwargs)
        runner.to_create.append(
            RunTrigger.model_construct(
                id=7,
                ti=None,
                classpath=classpath,
                encrypted_kwargs=stored.encrypted_kwargs,
                timeout_after=None,
            )
        )
        await runner.create_triggers()
        task = runner.triggers[7]["task"]
        async with asyncio.timeout(LIMIT):
            while len(looks) < 3:
                await asyncio.sleep(POKE)
        assert not runner.events
        happens()
        async with asyncio.timeout(LIMIT):
            while not runner.events and not task.done():
                await asyncio.sleep(POKE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return [(entry.trigger_id, entry.event.payload) for entry in runner.events]

    number, payload = asyncio.run(history())[0]
    assert number == 7
    return payload
