"""Killed, down, contended: a database lags, catches up without new input, and never doubles."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers.ports import free_ports
from tests.servers.postgres import Postgres
from tests.support.histories.history_builder import History, rows
from tests.support.processes import waiting_child
from tests.support.warehouse import PostgresWarehouse, Warehouse
from tidemill.contract.report import Outcome, Report
from tidemill.publish import registry
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform

Make = Callable[..., History]

# Publishes, and stops inside of the database's transaction, or after it and before the journal.
STOPS = """
import signal, sys
from pathlib import Path
from tidemill.journal.journal import Journal
from tidemill.main import main
from tidemill.publish.database.session import Session

reached, point = Path(sys.argv[1]), sys.argv[2]

def stop(*_):
    reached.touch()
    signal.pause()

if point == "before the commit":
    write = Session.write_head
    Session.write_head = lambda self, head: (write(self, head), stop())
else:
    record = Journal.record
    Journal.record = lambda self, it: record(self, it) if it.target == "delta" else stop()
sys.exit(main(["publish", "orders", "--run-id", "killed"]))
"""


@pytest.fixture
def history(make_history: Make, warehouse: Warehouse) -> History:
    """An empty history that is published to Delta and to a table."""
    return make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")


def work(history: History) -> list[tuple[str, str]]:
    report = perform("doctor", doctor, history.run("look"))
    return [(one["kind"], one.get("target", "")) for one in report.facts.get("work", ())]


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


@pytest.mark.parametrize("point", ["before the commit", "after the commit"])
def test_killed_around_the_commit_a_row_comes_once(
    history: History, warehouse: Warehouse, tmp_path: Path, point: str
) -> None:
    history.increment(rows(1, 2, 3))
    with waiting_child(STOPS, tmp_path / "reached", point, environ=history.environ):
        assert warehouse.ids() == ([] if point == "before the commit" else [1, 2, 3])
    assert history.ids() == [1, 2, 3]
    name = history.pipeline.spec.publish[1].name
    assert work(history) == [("apply", name)]
    # The dead server process still holds the row for as long as it takes to notice.
    report = history.publish("run-2")
    assert report.outcome is Outcome.DONE
    assert report.facts["further"] == {name: [1]}
    assert warehouse.ids() == [1, 2, 3]
    assert work(history) == []


@contextmanager
def without(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The connection leads to a port without a listener."""
    (port,) = free_ports(1)
    given = json.loads(warehouse.connection)
    with monkeypatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({**given, "port": port}))
        yield


def test_delta_goes_on_while_the_database_is_down_which_then_catches_up_without_input(
    history: History, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    history.publish()
    with without(warehouse, monkeypatch):
        for number in (2, 3):
            history.increment(rows(number))
            report = history.publish(f"run-{number}")
            assert (error_of(report)["code"], report.transient) == ("TargetUnreachable", True)
        assert history.ids() == [1, 2, 3]
        assert sorted(history.journal.published()) == [1, 2, 3]
    assert warehouse.ids() == [1]
    name = history.pipeline.spec.publish[1].name
    assert work(history) == [("apply", name)]
    assert history.publish().facts["further"] == {name: [2, 3]}
    assert warehouse.batches() == {n: ("live-0001", n - 1) for n in (1, 2, 3)}
    assert work(history) == []


def test_a_target_that_is_named_later_gets_what_the_ledger_still_has(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history()
    for number in (1, 2):
        history.increment(rows(number))
    history.publish()
    history.write_spec(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    assert [kind for kind, _ in work(history)] == ["apply"]
    history.publish()
    assert warehouse.ids() == [1, 2]
    history.write_spec(more="")
    history.increment(rows(3))
    assert history.publish().outcome is Outcome.DONE
    assert work(history) == []
    assert warehouse.ids() == [1, 2]


def test_a_server_that_accepts_and_says_nothing_is_given_up_in_seconds(
    history: History, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given = {**json.loads(warehouse.connection), "port": silent.getsockname()[1]}
        given["extra"] = json.dumps({"connect_timeout": 2})
        monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(given))
        assert error_of(history.publish())["code"] == "TargetUnreachable"
    assert history.ids() == [1]


def test_of_two_publishers_at_once_each_row_comes_once(
    history: History, warehouse: Warehouse
) -> None:
    for number in range(1, 6):
        history.increment(rows(number))
    history.publish()
    warehouse.execute("DROP TABLE orders")
    warehouse.execute("DROP TABLE tidemill_heads")
    events = history.journal.events()
    payloads = [history.payload(event) for event in events]
    errors: list[BaseException] = []
    both = threading.Barrier(2)

    def publisher() -> None:
        target = registry.targets_of(history.pipeline, 99, lambda _: None)[1]
        both.wait()
        for event, payload in zip(events, payloads, strict=True):
            try:
                target.apply(event, payload)
            except BaseException as error:  # noqa: BLE001 - looked at below
                errors.append(error)

    threads = [threading.Thread(target=publisher) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The slower of the two finds events that are no longer the last.
    assert {type(error).__name__ for error in errors} <= {"HeadUnexplained"}
    assert warehouse.ids() == [1, 2, 3, 4, 5]


CANARY = "canary-5f1c'\"\\%s"


def test_a_password_is_in_no_error_and_no_report(
    history: History, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**json.loads(warehouse.connection), "password": CANARY}
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(given))
    history.increment(rows(1))
    said: list[str] = []
    run = history.run()
    target = registry.targets_of(run.pipeline, 99, said.append)[1]
    report = history.publish()
    assert error_of(report)["code"] == "TargetUnreachable"
    assert "canary" not in report.model_dump_json()
    (event,) = history.journal.events()
    with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever it is, it is searched
        target.apply(event, history.payload(event))
    chain: BaseException | None = failed.value
    while chain is not None:
        assert "canary" not in repr(chain) + str(chain)
        chain = chain.__cause__
    assert failed.value.__suppress_context__


def test_what_the_driver_quotes_of_a_row_is_not_said(
    history: History, warehouse: Warehouse
) -> None:
    secret = "a private 'matter' for key"
    history.increment(rows(1, text=secret))
    history.publish()
    column = "text" if warehouse.kind == "postgres" else "text(50)"
    warehouse.execute(f"CREATE UNIQUE INDEX one ON orders ({column})")
    history.increment(rows(2, text=secret))
    error = error_of(history.publish())
    assert error["code"] == "DatabaseRefused"
    assert "matter" not in json.dumps(error)
    assert warehouse.ids() == [1]


def test_an_unknown_setting_of_the_connection_is_refused(
    history: History, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = json.dumps({"local_infile": True, "sslmod": "require"})
    given = {**json.loads(warehouse.connection), "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(given))
    history.increment(rows(1))
    error = error_of(history.publish())
    assert error["data"]["key"] in ("local_infile", "sslmod")
    assert warehouse.ids() == []


DEAF = """
CREATE FUNCTION deaf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER deaf BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION deaf()
"""


@pytest.fixture
def on_postgres(
    make_history: Make, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> tuple[History, Warehouse]:
    """A history with an increment in a table of PostgreSQL."""
    warehouse = PostgresWarehouse(postgres)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", warehouse.connection)
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2))
    return history, warehouse


def test_rows_that_a_trigger_takes_away_are_missed(
    on_postgres: tuple[History, Warehouse],
) -> None:
    history, warehouse = on_postgres
    warehouse.execute(DEAF)
    error = error_of(history.publish())
    assert (error["code"], error["data"]["given"], error["data"]["stored"]) == ("RowsMissing", 1, 0)
    warehouse.execute("DROP TRIGGER deaf ON orders")
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1, 2]


def test_columns_that_somebody_keeps_changing_are_looked_at_again_by_the_next_try(
    on_postgres: tuple[History, Warehouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    history, warehouse = on_postgres
    with monkeypatch.context() as patch:
        patch.setattr("tidemill.publish.database.target.changes", lambda *_: ["SELECT 1"])
        report = history.publish()
    assert (error_of(report)["code"], report.transient) == ("TableContended", True)
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1, 2]
