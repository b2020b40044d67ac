"""A database's table equals the published rows: in every mode, in order, each event once."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.remedies import carry_out
from tests.support.warehouse import Warehouse
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome, Report
from tidemill.journal.journal import Event
from tidemill.publish import registry
from tidemill.publish.database.table_change import TableGone
from tidemill.publish.fences import all_fences
from tidemill.publish.head import TableTaken
from tidemill.publish.target import HeadUnexplained, NotOurTurn
from tidemill.storage.lease import newest_epoch

Make = Callable[..., History]


@pytest.fixture
def history(make_history: Make, warehouse: Warehouse) -> History:
    """An empty history that is published to Delta and to a table."""
    return make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")


@pytest.fixture
def upserts(make_history: Make, warehouse: Warehouse) -> History:
    """The same, with rows that replace those of the same id."""
    return make_history(
        output=", keys: [id]",
        more=f"publish: [{{kind: delta}}, {warehouse.target(mode='upsert')}]",
    )


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


def apply(history: History, event: Event, epoch: int = 99, **changes: Any) -> int:
    """Offer an event, or one that differs from it, to the table."""
    target = registry.targets_of(history.pipeline, epoch, lambda _: None)[-1]
    return target.apply(event.model_copy(update=changes), history.payload(event))


def test_the_rows_of_the_table_are_those_of_delta(history: History, warehouse: Warehouse) -> None:
    history.increment([*rows(1, 2), row(2)], [reject("bad")])
    history.batch(rows(3))
    history.batch([row(4, amount=None, text=None)])
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    columns = ("id", "amount", "text", "day")
    published = Counter(tuple(one[name] for name in columns) for one in history.published())
    assert sum(published.values()) == 5
    assert warehouse.rows(*columns) == published


def test_every_row_says_from_which_batch_it_is(history: History, warehouse: Warehouse) -> None:
    history.increment(rows(1))
    history.batch(rows(2))
    history.batch(rows(3))
    history.judge(history.seal().increment)
    history.publish()
    assert warehouse.batches() == {n + 1: ("live-0001", n) for n in range(3)}
    assert warehouse.head() == (2, 2, newest_epoch(history.layout.lease))


def test_a_later_row_of_the_same_key_replaces_the_earlier(
    upserts: History, warehouse: Warehouse
) -> None:
    upserts.increment(rows(1, 2, 3))
    upserts.publish()
    upserts.increment([row(2, text="two"), row(4)])
    upserts.batch([row(1, text="first")])
    upserts.batch([row(1, text="second"), row(5)])
    upserts.judge(upserts.seal().increment)
    assert upserts.publish().outcome is Outcome.DONE
    texts = {(1, "second"), (2, "two"), (3, "row 3"), (4, "row 4"), (5, "row 5")}
    assert warehouse.rows("id", "text") == Counter(texts)
    assert {n: batch for n, (_, batch) in warehouse.batches().items()} == {
        1: 3,
        2: 1,
        3: 0,
        4: 1,
        5: 3,
    }


def test_a_key_that_is_twice_in_one_batch_is_refused(
    upserts: History, warehouse: Warehouse
) -> None:
    upserts.increment(rows(1))
    upserts.increment([row(2, text="a"), row(2, text="b")])
    error = error_of(upserts.publish())
    assert (error["code"], error["data"]["batch"]) == ("KeyRepeated", 1)
    assert warehouse.ids() == [1]
    assert upserts.ids() == [1, 2, 2]


def test_a_key_that_is_null_is_refused(make_history: Make, warehouse: Warehouse) -> None:
    target = warehouse.target(mode="upsert")
    history = make_history(output=", keys: [id, text]", more=f"publish: [{target}]")
    history.increment([row(1), row(2, text=None)])
    error = error_of(history.publish())
    assert (error["code"], error["data"]["keys"]) == ("KeyUnfit", ["id", "text"])
    assert warehouse.ids() == []


@pytest.mark.parametrize("padded", [True, False])
def test_keys_differ_by_case_and_by_trailing_space(
    make_history: Make, warehouse: Warehouse, padded: bool
) -> None:
    target = warehouse.target(mode="upsert")
    history = make_history(output=", keys: [text]", more=f"publish: [{target}]")
    keys = ["a", "A", *(["a "] if padded else []), "ä", "", "é", "e\u0301", "🙂"]
    history.increment([row(n, text=text) for n, text in enumerate(keys)])
    history.increment([row(n + 100, text=text) for n, text in enumerate(keys)])
    report = history.publish()
    if padded and not warehouse.tells_padded_keys_apart():
        assert error_of(report)["code"] == "CollationUnfit"
        assert warehouse.ids() == []
        return
    assert report.outcome is Outcome.DONE
    assert {text: n for n, text in warehouse.rows("id", "text")} == {
        text: n + 100 for n, text in enumerate(keys)
    }


@pytest.mark.parametrize("warehouse", ["mysql"], indirect=True)
def test_mysqls_own_kind_of_password_is_enough_without_tls(
    make_history: Make, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server remembers the password of a user who logged in before.
    user, password = f"first_{warehouse.database}", secrets.token_urlsafe(12)
    login = f"'{user}'@'127.0.0.1'"
    warehouse.execute(f"CREATE USER {login} IDENTIFIED WITH caching_sha2_password BY '{password}'")
    warehouse.execute(f"GRANT ALL ON {warehouse.database}.* TO {login}")
    given = {**json.loads(warehouse.connection), "login": user, "password": password}
    given["extra"] = json.dumps({"ssl_disabled": True})
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(given))
    history = make_history(more=f"publish: [{warehouse.target()}]")
    history.increment(rows(1))
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1]


def test_a_target_that_is_not_delta_can_be_the_head(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(more=f"publish: [{warehouse.target()}]")
    history.increment(rows(1, 2), [reject("bad")])
    report = history.publish("run-1")
    assert [done["version"] for done in report.facts["published"]] == [1]
    assert warehouse.ids() == [1, 2]
    assert history.log() == []
    assert history.records() == ["bad"]
    assert [event.increment for event in history.journal.unannounced()] == [1]


def test_applying_twice_changes_nothing(history: History, warehouse: Warehouse) -> None:
    history.increment(rows(1, 2))
    history.publish()
    (event,) = history.journal.events()
    assert apply(history, event) == 1
    assert warehouse.ids() == [1, 2]


def test_an_event_that_is_not_the_next_is_refused(history: History, warehouse: Warehouse) -> None:
    history.increment(rows(1))
    history.publish()
    (event,) = history.journal.events()
    with pytest.raises(NotOurTurn) as refused:
        apply(history, event, seq=3, first=2, last=2)
    assert (refused.value.head, refused.value.first) == (0, 2)
    assert warehouse.ids() == [1]


def test_an_older_epoch_is_fenced_out(history: History, warehouse: Warehouse) -> None:
    history.increment(rows(1))
    history.publish()
    epoch = newest_epoch(history.layout.lease)
    history.increment(rows(2))
    sealed = history.snapshot.get(2).sealed
    (event,) = history.journal.events()
    changes = {"seq": 2, "first": 1, "last": 1, "files_hash": sealed.files_hash}
    with pytest.raises(LeaseLost) as lost:
        apply(history, event, epoch - 1, **changes)
    assert (lost.value.epoch, lost.value.newer) == (epoch - 1, epoch)
    assert warehouse.ids() == [1]
    fences = {fence.where: fence.epoch for fence in all_fences(history.pipeline)}
    assert fences[history.pipeline.spec.publish[-1].name] == epoch


def test_batches_that_are_counted_and_were_others_are_not_taken_for_published(
    history: History, warehouse: Warehouse
) -> None:
    history.increment(rows(1))
    history.increment(rows(2))
    history.publish()
    first, second = history.journal.events()
    for event, changes in ((second, {"files_hash": "0" * 64}), (first, {})):
        with pytest.raises(HeadUnexplained) as refused:
            apply(history, event, **changes)
        assert refused.value.head == 1
    assert warehouse.ids() == [1, 2]


def test_rows_of_somebody_else_are_not_ours(history: History, warehouse: Warehouse) -> None:
    warehouse.execute("CREATE TABLE orders (id bigint)")
    warehouse.execute("INSERT INTO orders VALUES (7)")
    history.increment(rows(1))
    assert error_of(history.publish())["code"] == TableTaken.__name__
    assert warehouse.ids() == [7]
    assert history.ids() == [1]


def test_a_table_of_another_pipeline_is_not_ours(history: History, warehouse: Warehouse) -> None:
    history.increment(rows(1))
    history.publish()
    warehouse.execute("UPDATE tidemill_heads SET pipeline = 'other'")
    history.increment(rows(2))
    error = error_of(history.publish())
    assert (error["code"], error["data"]["pipeline"]) == (TableTaken.__name__, "other")
    assert warehouse.ids() == [1]


def test_a_table_without_its_head_row_is_not_filled_twice(
    history: History, warehouse: Warehouse
) -> None:
    history.increment(rows(1))
    history.publish()
    warehouse.execute("DELETE FROM tidemill_heads")
    history.increment(rows(2))
    assert error_of(history.publish())["code"] in (TableTaken.__name__, NotOurTurn.__name__)
    assert warehouse.ids() == [1]


@pytest.mark.remedy("TableGone")
def test_a_head_row_without_its_table_loses_nothing_in_silence(
    history: History, warehouse: Warehouse
) -> None:
    history.increment(rows(1))
    history.publish()
    warehouse.execute("DROP TABLE orders")
    history.increment(rows(2))
    error = error_of(history.publish())
    assert error["code"] == TableGone.__name__
    warehouse.execute("DROP TABLE tidemill_heads")
    carry_out(history, error["remedy"], "target repair")
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1, 2]


def test_what_the_remedies_say_fills_the_table_anew(history: History, warehouse: Warehouse) -> None:
    for number in (1, 2):
        history.increment(rows(number))
    history.publish()
    warehouse.execute("DROP TABLE orders")
    warehouse.execute("DELETE FROM tidemill_heads")
    history.increment(rows(3))
    assert history.publish().outcome is not Outcome.DONE
    for path in history.layout.journal.glob(f"*.{warehouse.kind}.*"):
        path.unlink()
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1, 2, 3]


def test_an_increment_without_a_good_row_moves_the_head_alone(
    history: History, warehouse: Warehouse
) -> None:
    history.increment([], [reject("a")], outcome="held")
    history.release(1)
    history.increment(rows(2))
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [2]
