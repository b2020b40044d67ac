"""A run that has not ended when the next data are due is told of, through Airflow's deadlines."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from airflow.sdk.execution_time.callback_supervisor import execute_callback
from airflow.serialization.serialized_objects import DagSerialization

from tests.airflow.conftest import NAME
from tests.support.airflow.recording_notifier import RecordingNotifier
from tests.support.spec_text import PATH, minimal, parse
from tidemill.contract.layout import Layout
from tidemill_airflow.dag import build_dag, build_group
from tidemill_airflow.operators.group import Member

NOTIFIER = f"{RecordingNotifier.__module__}.{RecordingNotifier.__qualname__}"
NOTIFY = f"notify: {{notifier: {NOTIFIER}, args: {{text: '{{message}}'}}}}\n"
EXPECT = "schedule: '@daily'\nexpect: {every: 1d, grace: 2h}\n"
LATE = {
    "dag_id": NAME,
    "dag_run_id": "scheduled__1",
    "run_type": "scheduled",
    "state": "running",
}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(RecordingNotifier, "sent", messages)
    return messages


def alerts(text: str) -> list[Any]:
    return build_dag(NAME, parse(text), PATH).deadline or []


def test_the_deadline_of_a_run_is_when_the_next_data_are_due() -> None:
    (alert,) = alerts(minimal(EXPECT + NOTIFY))
    assert alert.interval == timedelta(days=1, hours=2)
    assert alert.callback.kwargs == {"pipeline": NAME}


@pytest.mark.parametrize("more", ["", EXPECT, NOTIFY])
def test_without_a_time_or_a_notifier_there_is_no_deadline(more: str) -> None:
    assert alerts(minimal(more)) == []


def test_each_pipeline_of_a_group_has_a_deadline_of_its_own() -> None:
    group = "group: small\n"
    texts = {"one": EXPECT + NOTIFY, "two": EXPECT}
    members = [Member(name, parse(minimal(group + more)), PATH) for name, more in texts.items()]
    found = build_group("small", members).deadline or []
    assert [alert.callback.kwargs["pipeline"] for alert in found] == ["one"]


def test_a_dag_with_a_deadline_serialises_the_same_way_each_time() -> None:
    dag = build_dag(NAME, parse(minimal(EXPECT + NOTIFY)), PATH)
    first, second = (DagSerialization.to_dict(dag) for _ in range(2))
    assert first == second
    assert len(DagSerialization.from_dict(first).deadline or []) == 1


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({}, 1),
        ({"state": "queued"}, 1),
        ({"state": "failed"}, 0),
        ({"run_type": "backfill"}, 0),
    ],
)
def test_airflow_tells_of_a_late_run_through_the_specs_notifier(
    project: Path, layout: Layout, sent: list[dict[str, Any]], run: dict[str, str], told: int
) -> None:
    text = minimal(EXPECT + NOTIFY)
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(text)
    (alert,) = alerts(text)
    kwargs = {**alert.callback.kwargs, "context": {"dag_run": {**LATE, **run}}}
    done, why = execute_callback(
        alert.callback.path, kwargs, Path("pipelines.py"), None, structlog.get_logger()
    )
    assert (done, why) == (True, None)
    assert len(sent) == told
    assert all("scheduled__1" in message["text"] for message in sent)
