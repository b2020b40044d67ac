"""The example for HTTP: whole events in order, each once by its key, also after lost answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.targets.http_events import HttpEvents
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, row, rows
from tests.targets.receiver import Fault, Receiver
from tidemill.contract.report import Outcome
from tidemill.publish.target_kit import CHECKS, Subject

TARGET = "python.http_events.HttpEvents.receiver"
OPTIONS = {"conn_id": "receiver", "path": "/events"}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with Receiver().up() as receiver:
        monkeypatch.setenv("AIRFLOW_CONN_RECEIVER", receiver.connection)
        yield receiver


@pytest.fixture
def history(make_history: Callable[..., History], receiver: Receiver) -> History:
    """An empty history that is published to Delta and to the receiver."""
    given = {"kind": "python", "target": "http_events:HttpEvents", "conn_id": "receiver"}
    target = json.dumps({**given, "options": OPTIONS})
    history = make_history(more=f"publish: [{{kind: delta}}, {target}]")
    own = history.project.target("http_events")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("from spark_jobs.targets.http_events import HttpEvents\n")
    return history


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_what_a_target_promises(
    receiver: Receiver, tmp_path: Path, check: Callable[[Subject], None]
) -> None:
    columns = pa.schema([("id", pa.int64()), ("what", pa.string())])
    check(
        Subject(
            HttpEvents,
            OPTIONS,
            columns,
            lambda number: {"id": number, "what": f"row {number}"},
            receiver.ids,
            tmp_path,
            keeps_head=False,
        )
    )


@pytest.mark.parametrize("fault", ["lost", "busy"])
def test_each_event_is_there_once_and_in_order_after_any_lost_answer(
    history: History, receiver: Receiver, fault: Fault
) -> None:
    for number in (1, 2, 3):
        history.increment(rows(number, number + 10))
    receiver.faults = [None, fault]
    report = history.publish()
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert report.error is not None
    assert report.error["code"] == "TargetUnreachable"
    assert history.publish().outcome is Outcome.DONE
    assert receiver.ids() == [1, 11, 2, 12, 3, 13]
    sent = [(one["Tidemill-Event"], one["Idempotency-Key"]) for one in receiver.requests]
    assert len({key for _, key in sent}) == 3
    repeated = ["1", "2", "2", "3"] if fault == "lost" else ["1", "2", "3"]
    assert [event for event, _ in sent] == repeated


def test_rows_that_the_server_does_not_take_need_a_person_and_show_no_token(
    history: History, receiver: Receiver
) -> None:
    history.increment(rows(1))
    receiver.faults = ["refused"]
    report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert (report.error["code"], report.error["data"]["status"]) == ("RowsRefused", 422)
    assert "hush-hush" not in report.model_dump_json()
    assert history.ids() == [1]


def test_a_swap_says_what_it_takes_the_place_of(history: History, receiver: Receiver) -> None:
    history.increment([row(1)])
    made_again(history, [row(20)], seq=1, partitions=days("2024-01-01"))
    assert history.publish().outcome is Outcome.DONE
    last = receiver.requests[-1]
    assert last["Tidemill-Kind"] == "swap"
    assert json.loads(last["Tidemill-Partitions"])["values"] == [["2024-01-01"]]
