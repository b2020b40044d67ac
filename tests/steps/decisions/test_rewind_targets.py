"""A rewind in databases and Kafka: the table's rows, right after it and after the next publish."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.publish.test_kafka_target import VARIABLE, connection, headers
from tests.steps.decisions.test_rewind import back_to, rewound
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import row
from tests.support.histories.rolled_history import RolledHistory, with_transform
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome
from tidemill.journal.takeovers import current

if TYPE_CHECKING:
    from tests.servers.kafka import Broker

Read = Callable[[], list[int]]
SECOND = date(2024, 1, 2)


def history_of(home: Path, given: str = "") -> RolledHistory:
    more = f"publish: [{{kind: delta}}{given and ', '}{given}]"
    return with_transform(RolledHistory(home, more=more))


def go_back_and_on(home: Path, given: str, read: Read) -> None:
    """Rewind twice, with publishes in between; the target always has the table's rows."""
    history = history_of(home, given)
    for number in (1, 2, 3):
        assert history.go(number, 10 * number).outcome is Outcome.DONE
    rewound(history, back_to("run-2"))
    assert read() == history.ids() == [1, 2, 10, 20]
    for number in (4, 5):
        assert history.go(number).outcome is Outcome.DONE
    assert read() == history.ids() == [1, 2, 4, 5, 10, 20]
    rewound(history, back_to("run-1"), "further")
    assert (current(history.layout), read()) == ("live-0003", [1, 10])
    assert history.go(6).outcome is Outcome.DONE
    assert read() == history.ids() == [1, 6, 10]


def take_all_of_it_at_once(home: Path, given: str, read: Read) -> None:
    """Rewind before the target is there; it has the table's rows from its first publish on."""
    history = history_of(home)
    for number in (1, 2, 3):
        history.go(number)
    rewound(history, back_to("run-2"))
    history.go(4)
    history.write_spec(more=f"publish: [{{kind: delta}}, {given}]")
    assert history.publish().outcome is Outcome.DONE
    assert read() == history.ids() == [1, 2, 4]


def test_a_database_has_the_rows_of_the_table(tmp_path: Path, warehouse: Warehouse) -> None:
    go_back_and_on(tmp_path / "pipeline", warehouse.target(), warehouse.ids)


def test_a_database_that_lags_takes_all_of_it_at_once(tmp_path: Path, warehouse: Warehouse) -> None:
    take_all_of_it_at_once(tmp_path / "pipeline", warehouse.target(), warehouse.ids)


def test_partitions_that_were_computed_again_before_it_stay_in_a_database(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    history = history_of(tmp_path / "pipeline", warehouse.target())
    for number in (1, 2):
        history.batch([row(number), row(10 * number, SECOND)])
        history.judge(history.seal().increment)
        history.publish()
    made_again(history, [row(30, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    history.go(3)
    rewound(history, back_to("again"))
    assert warehouse.ids() == history.ids() == [1, 2, 30]
    history.go(4)
    assert warehouse.ids() == history.ids() == [1, 2, 4, 30]


@pytest.fixture
def topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty topic that the connection of a target leads to."""
    name = f"rewound-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name, partitions=1)
    monkeypatch.setenv(VARIABLE, connection(broker.settings()))
    return name


def ids_after_replacements(broker: Broker, topic: str) -> list[int]:
    """What a reader holds that forgets all rows where records replace all of them."""
    found: dict[str, list[int]] = {}
    for message in broker.records(topic):
        said = headers(message)
        increment = said["tidemill.increment"]
        if increment not in found and said.get("tidemill.kind") == "replace":
            found = {}
        found.setdefault(increment, []).append(json.loads(message.value())["id"])
    return sorted(number for numbers in found.values() for number in numbers)


@pytest.mark.parametrize("play", [go_back_and_on, take_all_of_it_at_once])
def test_a_reader_of_a_topic_holds_the_rows_of_the_table(
    tmp_path: Path, broker: Broker, topic: str, play: Callable[[Path, str, Read], None]
) -> None:
    target = f"{{kind: kafka, topic: {topic}}}"
    play(tmp_path / "pipeline", target, lambda: ids_after_replacements(broker, topic))
