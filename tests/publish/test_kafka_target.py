"""Kafka as a target: rows in order, once with transactions, else told apart by their headers."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from tests.servers.ports import free_ports
from tests.support.histories.history_builder import COLUMNS, History, reject, row, rows
from tests.support.processes import wait_for, waiting_child
from tidemill.contract.connections import airflow as contract
from tidemill.contract.report import Outcome, Report
from tidemill.publish.kafka_delivery import Record
from tidemill.publish.kafka_transaction import ProducerFenced, TransactionalDelivery

if TYPE_CHECKING:
    from tests.servers.kafka import Broker

Make = Callable[..., History]
NUMBERS = itertools.count(1)
VARIABLE = "AIRFLOW_CONN_TIDEMILL_KAFKA"

# Publishes, and stops after everything was sent and before the journal knows.
STOPS = """
import signal, sys
from pathlib import Path
from tidemill.journal.journal import Journal
from tidemill.main import main

def stop():
    Path(sys.argv[1]).touch()
    signal.pause()

record = Journal.record
Journal.record = lambda self, it: record(self, it) if it.target == "delta" else stop()
sys.exit(main(["publish", "orders", "--run-id", "killed"]))
"""

# The same, after everything was sent and before it is committed.
STOPS_BEFORE_COMMIT = """
import signal, sys
from pathlib import Path
from tidemill.main import main
from tidemill.publish.kafka_transaction import TransactionalDelivery

def stop(delivery, event, topic):
    delivery.producer.flush()
    Path(sys.argv[1]).touch()
    signal.pause()

TransactionalDelivery.finish = stop
sys.exit(main(["publish", "orders", "--run-id", "killed"]))
"""


def connection(settings: dict[str, str]) -> str:
    return json.dumps({"conn_type": "kafka", "extra": settings})


@pytest.fixture
def topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> str:
    """A topic of three partitions, with the connection to its broker in the environment."""
    monkeypatch.setenv(VARIABLE, connection(broker.settings()))
    name = f"orders-{next(NUMBERS)}"
    broker.create_topic(name, partitions=3)
    return name


def make(make_history: Make, topic: str, **given: Any) -> History:
    target = json.dumps({"kind": "kafka", "topic": topic, **given})
    return make_history(more=f"publish: [{{kind: delta}}, {target}]")


def headers(message: Message) -> dict[str, str]:
    return {name: value.decode() for name, value in message.headers() or ()}


def once(messages: list[Message]) -> list[Message]:
    """What a reader keeps that drops repeats."""
    seen: dict[tuple[str, ...], Message] = {}
    for message in messages:
        said = headers(message)
        names = ("pipeline", "generation", "increment", "row")
        seen.setdefault(tuple(said[f"tidemill.{name}"] for name in names), message)
    return list(seen.values())


def ids(messages: list[Message]) -> list[int]:
    return sorted(json.loads(message.value())["id"] for message in messages)


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


def test_every_row_is_a_record_with_its_place_in_the_headers(
    make_history: Make, broker: Broker, topic: str
) -> None:
    history = make(make_history, topic, key=["id"])
    history.increment([row(1, text=None), row(2, text='"é\n🙂')], [reject("bad")])
    history.batch(rows(3))
    history.batch(rows(4))
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    found = {message.key().decode(): message for message in broker.records(topic)}
    assert sorted(found) == ["1", "2", "3", "4"]
    assert headers(found["4"]) == {
        "tidemill.pipeline": "orders",
        "tidemill.generation": "live-0001",
        "tidemill.increment": "2",
        "tidemill.batch": "2",
        "tidemill.row": "1",
    }
    assert json.loads(found["1"].value()) == {
        "amount": 1.25,
        "at": "2024-01-01T12:00:00.000000Z",
        "text": None,
        "day": "2024-01-01",
    }
    assert json.loads(found["2"].value())["text"] == '"é\n🙂'


def test_rows_of_one_key_come_in_the_order_of_increments(
    make_history: Make, broker: Broker, topic: str
) -> None:
    history = make(make_history, topic, key=["text"])
    for number in range(1, 8):
        history.increment([row(number, text="same"), row(-number, text=f"other {number}")])
    history.publish()
    same = [m for m in broker.records(topic) if m.key() == b"same"]
    assert len({message.partition() for message in same}) == 1
    assert [json.loads(message.value())["id"] for message in same] == [*range(1, 8)]


def test_killed_between_the_send_and_the_journal_repeats_can_be_dropped(
    make_history: Make, broker: Broker, topic: str, tmp_path: Path
) -> None:
    history = make(make_history, topic)
    history.increment([*rows(1, 2, 3), row(3)])
    history.increment(rows(4))
    with waiting_child(STOPS, tmp_path / "reached", environ=history.environ):
        pass
    assert ids(broker.records(topic)) == [1, 2, 3, 3]
    report = history.publish("run-2")
    assert report.outcome is Outcome.DONE
    assert report.facts["further"] == {history.pipeline.spec.publish[1].name: [1, 2]}
    found = broker.records(topic)
    assert Counter(ids(found)) == Counter({1: 2, 2: 2, 3: 4, 4: 1})
    assert ids(once(found)) == [1, 2, 3, 3, 4]
    assert history.publish("run-3").facts["further"] == {}
    assert len(broker.records(topic)) == len(found)


@pytest.mark.parametrize(("script", "seen"), [(STOPS, [1, 2, 3]), (STOPS_BEFORE_COMMIT, [])])
def test_with_a_transactional_id_every_row_comes_once_wherever_a_publish_is_killed(
    make_history: Make, broker: Broker, topic: str, tmp_path: Path, script: str, seen: list[int]
) -> None:
    # A commit is acknowledged before readers see it: the coordinator then writes its markers.
    history = make(make_history, topic, transactional_id=f"mill-{topic}")
    history.increment(rows(1, 2, 3))
    history.increment(rows(4))
    with waiting_child(script, tmp_path / "reached", environ=history.environ):
        pass
    wait_for(lambda: ids(broker.records(topic)) == seen)
    assert history.publish("run-2").outcome is Outcome.DONE
    wait_for(lambda: ids(broker.records(topic)) == [1, 2, 3, 4])
    history.increment(rows(5))
    assert history.publish("run-3").outcome is Outcome.DONE
    wait_for(lambda: ids(broker.records(topic)) == [1, 2, 3, 4, 5])


def test_a_producer_that_comes_back_after_another_took_over_is_fenced_out(
    make_history: Make, broker: Broker, topic: str
) -> None:
    history = make(make_history, topic, transactional_id=f"mill-{topic}")
    history.increment(rows(1))
    assert history.publish().outcome is Outcome.DONE
    event = history.journal.events()[0]
    given = contract.connection("tidemill_kafka")
    left, taking_over = (TransactionalDelivery("kafka", given, f"of-{topic}") for _ in range(2))
    left.begin()
    left.send(Record(topic, None, "too late", []))
    with pytest.raises(ProducerFenced):
        left.finish(event, topic)
    taking_over.begin()
    taking_over.send(Record(topic, None, "in time", []))
    taking_over.finish(event, topic)
    wait_for(lambda: len(broker.records(topic)) == 2)
    second, first = sorted(message.value() for message in broker.records(topic))
    assert json.loads(first)["id"] == 1
    assert second == b"in time"
    assert taking_over.has(event, topic)
    assert taking_over.has(event, None)


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (port,) = free_ports(1)
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, connection({"bootstrap.servers": f"127.0.0.1:{port}"}))
        yield


def test_delta_goes_on_while_no_broker_answers_and_the_topic_catches_up(
    make_history: Make, broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = make(make_history, topic)
    with without(monkeypatch):
        history.increment(rows(1))
        report = history.publish()
        assert (error_of(report)["code"], report.transient) == ("TargetUnreachable", True)
    assert (history.ids(), broker.records(topic)) == ([1], [])
    assert history.publish().outcome is Outcome.DONE
    assert ids(broker.records(topic)) == [1]


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_it_logs_in_as_the_connection_says(
    make_history: Make,
    broker: Broker,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
) -> None:
    history = make(make_history, topic)
    settings = broker.settings(protocol)
    monkeypatch.setenv(VARIABLE, connection({**settings, "sasl.password": "canary-9"}))
    history.increment(rows(1))
    report = history.publish()
    assert error_of(report)["code"] == "TargetUnreachable"
    assert "canary" not in report.model_dump_json()
    monkeypatch.setenv(VARIABLE, connection(settings))
    assert history.publish().outcome is Outcome.DONE
    assert ids(broker.records(topic)) == [1]


def test_a_column_says_which_topic(make_history: Make, broker: Broker, topic: str) -> None:
    other = f"{topic}-b"
    broker.create_topic(other)
    history = make_history(
        columns=COLUMNS.append(pa.field("to", pa.string())),
        more="publish: [{kind: delta}, {kind: kafka, topic_column: to}]",
    )
    history.increment([row(1, to=topic), row(2, to=other), row(3, to=other)])
    assert history.publish().outcome is Outcome.DONE
    assert (ids(broker.records(topic)), ids(broker.records(other))) == ([1], [2, 3])
    assert "to" not in json.loads(broker.records(topic)[0].value())


@pytest.mark.parametrize("stray", [None, "", "no-such", "__consumer_offsets", "../x"])
def test_a_topic_that_nobody_made_is_refused_before_anything_is_sent(
    make_history: Make, broker: Broker, topic: str, stray: str | None
) -> None:
    history = make_history(
        columns=COLUMNS.append(pa.field("to", pa.string())),
        more="publish: [{kind: delta}, {kind: kafka, topic_column: to}]",
    )
    history.increment([row(1, to=topic), row(2, to=stray)])
    error = error_of(history.publish())
    assert (error["code"], error["data"]["topics"]) == ("TopicUnfit", [str(stray)])
    assert broker.records(topic) == []


WIDE = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("raw", pa.binary()),
        ("tags", pa.map_(pa.string(), pa.int64())),
    ]
)
ONE = {
    "id": 1,
    "text": 'a, "b"\n',
    "amount": Decimal("1.50"),
    "at": datetime(2024, 1, 1, tzinfo=UTC),
    "raw": b"\0\xff",
    "tags": [("x", 1)],
}
NOTHING = {"id": 2, **dict.fromkeys(WIDE.names[1:])}


@pytest.mark.parametrize(
    ("given", "keys", "values"),
    [
        (
            {"key": ["id", "text"], "value": {"text": "text"}},
            [b'{"id":1,"text":"a, \\"b\\"\\n"}', b'{"id":2,"text":null}'],
            [b'a, "b"\n', None],
        ),
        (
            {"key": ["raw"], "value": "csv"},
            [b"\0\xff", None],
            [
                b'1,"a, ""b""\n",1.50,2024-01-01T00:00:00.000000Z,"{""x"":1}"',
                b"2,,,,",
            ],
        ),
        ({"key": ["amount"], "value": {"text": "raw"}}, [b"1.50", None], [b"\0\xff", None]),
        (
            {"key": ["at"], "value": "json"},
            [b"2024-01-01T00:00:00.000000Z", None],
            [
                b'{"id":1,"text":"a, \\"b\\"\\n","amount":1.50,"raw":"AP8=","tags":{"x":1}}',
                b'{"id":2,"text":null,"amount":null,"raw":null,"tags":null}',
            ],
        ),
    ],
    ids=["text", "csv", "binary", "json"],
)
def test_keys_and_values_have_the_format_that_the_spec_says(
    make_history: Make,
    broker: Broker,
    topic: str,
    given: dict[str, Any],
    keys: list[bytes | None],
    values: list[bytes | None],
) -> None:
    target = json.dumps({"kind": "kafka", "topic": topic, **given})
    history = make_history(columns=WIDE, partitions={}, more=f"publish: [{target}]")
    history.increment([ONE, NOTHING])
    assert history.publish().outcome is Outcome.DONE
    found = sorted(broker.records(topic), key=lambda m: headers(m)["tidemill.row"])
    assert [message.key() for message in found] == keys
    assert [message.value() for message in found] == values


def test_an_empty_text_is_not_null_in_csv(make_history: Make, broker: Broker, topic: str) -> None:
    history = make(make_history, topic, value="csv")
    history.increment([row(1, text=""), row(2, text=None)])
    history.publish()
    found = sorted(message.value() for message in broker.records(topic))
    assert [value.split(b",")[3] for value in found] == [b'""', b""]


@pytest.mark.parametrize("given", [{"key": ["x"]}, {"value": {"text": "x"}}])
def test_a_column_that_is_not_published_is_refused(
    make_history: Make, broker: Broker, topic: str, given: dict[str, Any]
) -> None:
    history = make(make_history, topic, **given)
    history.increment(rows(1))
    error = error_of(history.publish())
    assert (error["code"], error["data"]["column"]) == ("ColumnUnknown", "x")
    assert broker.records(topic) == []


def test_a_record_that_is_too_large_is_refused_and_no_retry_helps(
    make_history: Make, broker: Broker, topic: str
) -> None:
    history = make(make_history, topic)
    history.increment([row(1, text="x" * 2_000_000)])
    report = history.publish()
    assert (error_of(report)["code"], report.transient) == ("RecordRefused", False)
    assert history.ids() == [1]
