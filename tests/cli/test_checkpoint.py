"""`tidemill checkpoint`: a batch and what became of it; a repair, done only if somebody says so."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode


@pytest.fixture
def torn(history: History) -> Path:
    history.batch(rows(1))
    commit = history.checkpoint / "commits" / "0"
    commit.write_text("")
    return commit


def test_it_shows_what_it_would_do_and_does_nothing_unasked(tidemill: Tidemill, torn: Path) -> None:
    answer = tidemill("checkpoint", "repair", "orders")
    assert answer.exit_code == ExitCode.USAGE
    assert "commits/0" in answer.stdout
    assert torn.read_text() == ""


def test_it_does_it_when_it_is_told_to(tidemill: Tidemill, torn: Path) -> None:
    found = tidemill("checkpoint", "repair", "orders", "--yes", "--json").json
    assert found["repaired"]
    assert found["repairs"] == [{"file": str(torn), "action": "write", "why": "it is empty"}]
    assert torn.read_text() == 'v1\n{"nextBatchWatermarkMs":0}'


def test_without_anything_torn_there_is_nothing_to_do(tidemill: Tidemill, history: History) -> None:
    history.batch(rows(1))
    found = tidemill("checkpoint", "repair", "orders", "--json")
    assert (found.exit_code, found.json["repairs"]) == (ExitCode.DONE, [])


def test_a_batch_is_shown_with_its_run_files_offsets_and_increment(
    tidemill: Tidemill, history: History
) -> None:
    file = history.arrive("a.csv")
    history.batch(rows(1, 2), [reject("bad")], inputs=[file])
    history.judge(history.seal().increment, "passed")
    history.publish()
    history.batch(rows(3))

    found = tidemill("checkpoint", "show", "orders", "--json").json

    assert (found["planned"], found["committed"], found["recorded"]) == (1, 1, 1)
    first, second = found["batches"]
    (written,) = history.ledger.batches(0, 0)
    assert (first["run_id"], first["offsets"]) == (written.run_id, written.offsets)
    assert (first["files_read"], first["files_written"]) == (1, len(written.outputs))
    assert (first["rows"], first["rejected"]) == (2, 1)
    said = ("state", "increment", "verdict", "event")
    assert [first[name] for name in said] == ["published", 1, "passed", 1]
    assert [second[name] for name in said] == ["recorded", None, None, None]


def test_a_batch_that_spark_has_only_planned_has_no_run_yet(
    tidemill: Tidemill, history: History
) -> None:
    history.batch(rows(1))
    history.batch(rows(2), commit=False)

    found = tidemill("checkpoint", "show", "orders", "--json").json

    assert (found["planned"], found["committed"], found["recorded"]) == (1, 0, 0)
    assert [one["state"] for one in found["batches"]] == ["recorded", "planned"]
    assert found["batches"][1]["run_id"] is None


def test_the_newest_batches_are_a_table_for_programs(tidemill: Tidemill, history: History) -> None:
    for number in range(3):
        history.batch(rows(number))

    lines = tidemill("checkpoint", "show", "orders", "--limit", "2", "--csv").stdout.splitlines()

    found = [*csv.DictReader(lines)]
    assert [(one["batch"], one["state"], one["rows"]) for one in found] == [
        ("1", "recorded", "1"),
        ("2", "recorded", "1"),
    ]


def test_before_the_first_run_there_is_no_batch(tidemill: Tidemill, history: History) -> None:
    found = tidemill("checkpoint", "show", "orders", "--json")
    assert (found.exit_code, found.json["batches"], found.json["planned"]) == (0, [], None)
