"""A database that was restored from an older backup is refused by name, and filled up again."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.support.doctor_report import look, refused
from tests.support.histories.history_builder import History, rows
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome
from tidemill.publish.database.session import BATCH
from tidemill.steps.decisions.repair_target import repair_target
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext


@pytest.fixture
def history(make_history: Callable[..., History], warehouse: Warehouse) -> History:
    """Three increments in Delta and in a table."""
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    for number in (1, 2, 3):
        history.increment(rows(number))
        history.publish()
    return history


def set_back(warehouse: Warehouse) -> None:
    """What a backup from before the last event brings back."""
    warehouse.execute(f"DELETE FROM orders WHERE {warehouse.quoted(BATCH)} = 2")
    warehouse.execute("UPDATE tidemill_heads SET last_batch = 1, seq = 2")


def name_of(history: History) -> str:
    return history.pipeline.spec.publish[1].name


def test_a_table_that_was_set_back_is_refused_until_it_is_repaired(
    history: History, warehouse: Warehouse
) -> None:
    set_back(warehouse)
    code, data = refused(history)
    assert (code, data["target"], data["head"]) == ("TargetBehindJournal", name_of(history), 2)
    repair_target(history.pipeline, name_of(history), "repair", lambda _: None)
    history.publish()
    assert warehouse.ids() == history.ids() == [1, 2, 3]
    assert look(history).outcome is Outcome.SKIPPED


def test_a_table_that_is_ahead_of_the_journal_is_refused(
    history: History, warehouse: Warehouse
) -> None:
    warehouse.execute("UPDATE tidemill_heads SET seq = 9")
    assert refused(history)[0] == "TargetAheadOfJournal"


def test_an_idle_run_asks_once_an_hour_and_one_with_work_always(
    history: History, warehouse: Warehouse
) -> None:
    assert look(history).outcome is Outcome.SKIPPED
    set_back(warehouse)
    assert look(history).outcome is Outcome.SKIPPED
    history.arrive("new.csv", "id,at\n9,\n")
    assert refused(history)[0] == "TargetBehindJournal"
    (history.inputs / "new.csv").unlink()
    assert look(history).outcome is Outcome.SKIPPED
    looked = history.layout.home / "looked" / name_of(history)
    os.utime(looked, (0, 0))
    assert refused(history)[0] == "TargetBehindJournal"


def test_one_that_does_not_answer_is_said_and_stops_nobody(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_WAREHOUSE")
    said: list[str] = []
    report = perform("doctor", doctor, RunContext(history.pipeline, "look", said.append))
    assert report.outcome is Outcome.SKIPPED
    assert any(name_of(history) in line for line in said)
