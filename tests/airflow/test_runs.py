"""Whole runs through Airflow's task runner and database, with steps of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import leaving, report_of
from tests.support.airflow.recording_notifier import RecordingNotifier
from tests.support.spec_text import minimal
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Step
from tidemill.journal.journal import Applied, Event, Journal
from tidemill_airflow.integrity import DAG_FILE
from tidemill_airflow.local.metadata import forget

NOTIFIER = f"{RecordingNotifier.__module__}.{RecordingNotifier.__qualname__}"
SPEC = f"""
airflow: {{retries: 1, retry_delay: 1s}}
notify: {{notifier: {NOTIFIER}, args: {{text: "{{message}}"}}}}
"""


@pytest.fixture
def dag(
    airflow_database: None, project: Path, layout: Layout, spark_submit: FakeSpark, monkeypatch: Any
) -> Iterator[DAG]:
    """The small project's DAG, all of whose steps are done at once."""
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(minimal(SPEC))
    monkeypatch.setattr(RecordingNotifier, "sent", [])
    found: DAG = DagBag(str(DAG_FILE)).dags[NAME]
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    for step in ("doctor", "gate", "publish"):
        end_with(found, layout, step, Outcome.DONE)
    yield found
    forget(NAME)


def end_with(dag: DAG, layout: Layout, step: Step, outcome: Outcome, **more: Any) -> None:
    """Have a step end in a certain way."""
    task: Any = dag.get_task(step)
    task.command = leaving(layout.runs, report_of(step, outcome, **more))


def run(dag: DAG) -> tuple[str, dict[str, str]]:
    """Run it; the state of the run, and of its tasks."""
    ended = dag.test()
    return str(ended.state), {ti.task_id: str(ti.state) for ti in ended.get_task_instances()}


def publish(layout: Layout, seq: int) -> None:
    now = datetime.now(UTC)
    journal = Journal(layout.journal)
    journal.append(
        Event(
            seq=seq,
            increment=seq,
            generation="live-0001",
            first=seq,
            last=seq,
            rows=10,
            rejected=0,
            files_hash="",
            verdict={},
            release=None,
            run_id="r",
            at=now,
        )
    )
    journal.record(Applied(seq=seq, target="delta", version=seq, run_id="r", at=now))


def asset_events(layout: Layout) -> list[dict[str, Any]]:
    """What Airflow has stored about the test's table."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    ours = select(AssetModel.id).where(AssetModel.uri == layout.table.as_uri())
    query = select(AssetEvent).where(AssetEvent.asset_id.in_(ours)).order_by(AssetEvent.id)
    with create_session() as session:
        return [dict(event.extra) for event in session.scalars(query)]


def test_a_run_with_nothing_to_do_is_skipped_and_starts_no_spark(
    dag: DAG, layout: Layout, spark_submit: FakeSpark
) -> None:
    end_with(dag, layout, "doctor", Outcome.SKIPPED)
    state, tasks = run(dag)
    assert set(tasks.values()) == {"skipped"}
    assert state == "success"
    assert not spark_submit.called


def test_a_held_increment_fails_its_run_without_a_retry(
    dag: DAG, layout: Layout, spark_submit: FakeSpark
) -> None:
    end_with(dag, layout, "gate", Outcome.HELD, reason="increment 000003 is held")
    state, tasks = run(dag)
    assert state == "failed"
    assert tasks == {
        "doctor": "success",
        "ingest": "success",
        "gate": "failed",
        "publish": "upstream_failed",
    }
    assert [message["text"] for message in RecordingNotifier.sent] == [
        "orders is held. gate: increment 000003 is held"
    ]


def test_an_increment_that_waits_leaves_its_run_well(dag: DAG, layout: Layout) -> None:
    end_with(dag, layout, "publish", Outcome.WAITING)
    state, tasks = run(dag)
    assert (state, tasks["publish"]) == ("success", "skipped")


def test_a_step_that_was_killed_is_tried_again(dag: DAG, layout: Layout, tmp_path: Path) -> None:
    task: Any = dag.get_task("doctor")
    killed, well = leaving(layout.runs, None, -9), task.command
    tries: list[int] = []

    def command(step: Step, pipeline: str, run_id: str) -> Any:
        tries.append(1)
        return (killed if len(tries) == 1 else well)(step, pipeline, run_id)

    task.command = command
    assert run(dag)[0] == "success"
    assert len(tries) == 2


def test_the_button_to_the_data_docs_is_there_when_the_gate_held(dag: DAG, layout: Layout) -> None:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    page = layout.docs / "page.html"
    end_with(dag, layout, "gate", Outcome.HELD, facts={"docs": str(page)})
    run(dag)
    with create_session() as session:
        query = select(XComModel).where(
            XComModel.dag_id == NAME, XComModel.key == "_link_DataDocsLink"
        )
        links = [XComModel.deserialize_value(link) for link in session.scalars(query)]
    assert links == [f"/tidemill/docs/{NAME}/page.html"]


def test_each_published_increment_is_one_asset_event_and_stays_one(
    dag: DAG, layout: Layout
) -> None:
    publish(layout, 1)
    publish(layout, 2)
    run(dag)
    assert [event["increment"] for event in asset_events(layout)] == [1, 2]
    run(dag)
    assert len(asset_events(layout)) == 2
    assert Journal(layout.journal).unannounced() == ()


def test_a_run_without_news_sends_no_asset_event(dag: DAG, layout: Layout) -> None:
    assert run(dag)[0] == "success"
    assert asset_events(layout) == []


def test_a_failed_publish_announces_nothing(dag: DAG, layout: Layout) -> None:
    publish(layout, 1)
    end_with(dag, layout, "publish", Outcome.REFUSED)
    run(dag)
    assert asset_events(layout) == []
    assert len(Journal(layout.journal).unannounced()) == 1


def test_a_step_that_takes_too_long_is_ended(
    dag: DAG, layout: Layout, spark_submit: FakeSpark
) -> None:
    spark_submit.hangs()
    task = dag.get_task("ingest")
    task.execution_timeout, task.retries = timedelta(seconds=2), 0
    state, tasks = run(dag)
    assert (state, tasks["ingest"]) == ("failed", "failed")
