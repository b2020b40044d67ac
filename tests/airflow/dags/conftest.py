"""What a trigger asks of Airflow, answered by the tests."""

from __future__ import annotations

import pytest
from airflow.sdk.execution_time import task_runner

from tests.support.airflow.triggerer import Supervisor


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    found = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", found, raising=False)
    return found
