"""The watcher that starts a run: what it sees, when it speaks, and when it had better not."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import NAME
from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.servers.ports import free_ports
from tests.support.airflow.triggerer import LIMIT, POKE, Supervisor, first_sent
from tests.support.spec_text import minimal
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill_airflow.dags.arrivals import ArrivalTrigger


@pytest.fixture
def feed(project: Path, layout: Layout, tmp_path: Path) -> Path:
    """Where files arrive; a new one wakes the small project's pipeline."""
    feed = tmp_path / "feed"
    feed.mkdir()
    spec = minimal("wake: {files: {}}\n", replace={"/in/orders": str(feed)})
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(spec)
    return feed


def deliver(feed: Path, name: str) -> None:
    (feed / name).write_text("id,amount,at\n1,2.00,2026-03-01 00:00:00\n")


def commit(layout: Layout, feed: Path, number: int, *names: str) -> None:
    """Have a batch in the ledger that took files in."""
    files = [feed / name for name in names]
    document = {
        "generation": FIRST_GENERATION,
        "batch": number,
        "offsets": {},
        "inputs": [
            {
                "source": "orders",
                "path": str(file),
                "size": file.stat().st_size,
                "modified_ms": file.stat().st_mtime_ns // 1_000_000,
            }
            for file in files
        ],
        "outputs": [],
        "rows_in": 1,
        "rows": 1,
        "rejected": 0,
        "watermark_before_ms": 0,
        "watermark_after_ms": 0,
        "start": 1,
        "run_id": "r",
        "spec_hash": "",
        "code_hash": "",
        "committed": "2026-03-01T00:00:00Z",
    }
    folder = layout.ledger(FIRST_GENERATION)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:06d}.json").write_text(json.dumps(document))


async def first_event(trigger: ArrivalTrigger) -> dict[str, Any]:
    async for event in trigger.run():
        return dict(event.payload)
    raise AssertionError("it ended without a word")


def look(trigger: ArrivalTrigger) -> Any:
    return trigger._look()


def trigger() -> ArrivalTrigger:
    return ArrivalTrigger(NAME, "files", POKE)


def test_a_file_that_appears_is_an_event_of_the_triggerers_own_runner(
    feed: Path, layout: Layout, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = first_sent(trigger(), lambda: deliver(feed, "one.csv"), monkeypatch)
    assert found == {"new": {"orders": 1}, "trouble": None}


def test_it_says_nothing_of_files_that_were_taken_in(feed: Path, layout: Layout) -> None:
    deliver(feed, "one.csv")
    commit(layout, feed, 0, "one.csv")
    assert not look(trigger()).wakes


def test_it_sees_what_came_after_them(feed: Path, layout: Layout) -> None:
    watching = trigger()
    deliver(feed, "one.csv")
    commit(layout, feed, 0, "one.csv")
    deliver(feed, "two.csv")
    assert look(watching).new == {"orders": 1}
    commit(layout, feed, 1, "two.csv")
    assert not look(watching).wakes
    assert look(watching).committed == 2


def test_while_a_run_is_queued_or_running_it_keeps_quiet(
    feed: Path, layout: Layout, supervisor: Supervisor
) -> None:
    deliver(feed, "one.csv")
    supervisor.active = 1

    async def history() -> dict[str, Any]:
        event = asyncio.create_task(first_event(trigger()))
        while len(supervisor.asked) < 3:
            await asyncio.sleep(POKE)
        assert not event.done()
        supervisor.active = 0
        async with asyncio.timeout(LIMIT):
            return await event

    assert asyncio.run(history())["new"] == {"orders": 1}
    assert {(ask.dag_id, *ask.states) for ask in supervisor.asked} == {(NAME, "queued", "running")}


def test_what_the_doctor_would_refuse_starts_a_run_that_says_so(feed: Path, layout: Layout) -> None:
    deliver(feed, "one.csv")
    commit(layout, feed, 0, "one.csv")
    (feed / "one.csv").write_text("id,amount,at\n")
    seen = look(trigger())
    assert (seen.new, seen.wakes) == ({}, True)
    assert "one.csv" in seen.trouble


def test_a_spec_that_does_not_load_any_more_starts_a_run_that_says_so(
    feed: Path, project: Path, layout: Layout
) -> None:
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text("sources: none\n")
    assert look(trigger()).wakes


def test_a_source_that_cannot_be_reached_for_the_moment_starts_nothing(
    feed: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidemill.contract.errors import TransientError
    from tidemill.sources.files.open_file_source import OpenFileSource

    def unreachable(*_: Any) -> Any:
        raise TransientError("The share is not there.", remedy="Wait.")

    deliver(feed, "one.csv")
    monkeypatch.setattr(OpenFileSource, "probe", unreachable)
    assert not look(trigger()).wakes


# --- Kafka


@pytest.fixture
def topic(
    broker: Broker, project: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A topic of its own, new records of which wake the small project's pipeline."""
    name = f"wakes-{uuid.uuid4().hex[:12]}"
    broker.create_topic(name)
    extra = {**broker.settings("SASL_PLAINTEXT"), "group.id": "of-somebody-else"}
    connection = {"conn_type": "kafka", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(connection))
    listen(project, name)
    yield name
    broker.delete_topic(name)


def listen(project: Path, topic: str, more: str = "") -> None:
    source = f"{{kind: kafka, subscribe: {topic}, value: {{format: text}}{more}}}"
    text = f"sources: {{orders: {source}}}\nwake: {{kafka: {{}}}}\n"
    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(text)


def test_a_record_that_arrives_is_seen_and_left_where_it_is(topic: str, broker: Broker) -> None:
    watching = ArrivalTrigger(NAME, "kafka", POKE)
    assert not look(watching).wakes
    broker.produce(topic, [Record(None, "one"), Record(None, "two")])
    assert look(watching).new == {"orders": 2}
    # It consumes nothing, so that it sees the same again as long as no run takes it in.
    assert look(watching).new == {"orders": 2}


def test_a_pipeline_that_begins_at_the_end_of_a_topic_is_woken_to_note_where_that_is(
    topic: str, project: Path
) -> None:
    listen(project, topic, ", startingOffsets: latest")
    assert look(ArrivalTrigger(NAME, "kafka", POKE)).new == {"orders": None}


def test_a_wrong_password_starts_a_run_that_says_so(
    topic: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {**broker.settings("SASL_PLAINTEXT"), "sasl.password": "wrong"}
    connection = {"conn_type": "kafka", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(connection))
    assert look(ArrivalTrigger(NAME, "kafka", POKE)).trouble


def test_a_broker_that_is_down_starts_nothing(
    project: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": f"127.0.0.1:{port}"}}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(connection))
    listen(project, "orders")
    assert not look(ArrivalTrigger(NAME, "kafka", POKE)).wakes


def test_a_connection_that_is_missing_starts_a_run_that_says_so(
    project: Path, layout: Layout
) -> None:
    listen(project, "orders")
    assert "tidemill_kafka" in look(ArrivalTrigger(NAME, "kafka", POKE)).trouble


def test_a_client_that_is_not_installed_starts_a_run_that_says_so(
    project: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(project, "orders")
    for name in [one for one in sys.modules if one.startswith("tidemill.sources.kafka")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": "127.0.0.1:9"}}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(connection))
    assert "tidemill[kafka]" in str(look(ArrivalTrigger(NAME, "kafka", POKE)).trouble)
