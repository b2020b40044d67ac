"""A target of one's own is one file: here one that keeps its head in SQLite beside the rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.processes import waiting_child
from tidemill.contract.report import Outcome, Report

Make = Callable[..., History]

SHELF = """
import sqlite3
from contextlib import closing

from tidemill.publish.target import NotOurTurn


class Shelf:
    def __init__(self, options, *, pipeline, epoch, say):
        self.path = options["path"]
        with closing(self.connect()) as shelf:
            shelf.execute("CREATE TABLE IF NOT EXISTS numbers (id INTEGER)")
            shelf.execute("CREATE TABLE IF NOT EXISTS head (last INTEGER)")

    def connect(self):
        return sqlite3.connect(self.path)

    def head(self, shelf):
        return shelf.execute("SELECT max(last) FROM head").fetchone()[0]

    def find(self, event):
        with closing(self.connect()) as shelf:
            head = self.head(shelf)
        return event.seq if head is not None and event.last <= head else None

    def apply(self, event, payload):
        with closing(self.connect()) as shelf, shelf:
            shelf.execute("BEGIN IMMEDIATE")
            head = self.head(shelf)
            first = 0 if head is None else head + 1
            if event.first != first:
                raise NotOurTurn("No.", remedy="Wait.", head=head, first=event.first)
            for _, chunk in payload.read():
                numbers = ((n,) for n in chunk.column("id").to_pylist())
                shelf.executemany("INSERT INTO numbers VALUES (?)", numbers)
            shelf.execute("INSERT INTO head VALUES (?)", (event.last,))
        return event.seq
"""

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


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return tmp_path / "shelf.db"


@pytest.fixture
def history(make_history: Make, shelf: Path) -> History:
    target = {"kind": "python", "target": "shelf:Shelf", "options": {"path": str(shelf)}}
    history = make_history(more=f"publish: [{{kind: delta}}, {json.dumps(target)}]")
    write(history, SHELF)
    return history


def write(history: History, code: str) -> None:
    path = history.project.target("shelf")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)


def numbers(shelf: Path) -> list[int]:
    found = sqlite3.connect(shelf).execute("SELECT id FROM numbers ORDER BY id").fetchall()
    return [number for (number,) in found]


def error_of(report: Report) -> dict[str, Any]:
    assert report.error is not None
    return report.error


def test_it_gets_every_event_once(history: History, shelf: Path) -> None:
    for number in (1, 2):
        history.increment(rows(number, number + 10))
    report = history.publish()
    assert report.facts["further"] == {"python.shelf.Shelf": [1, 2]}
    assert numbers(shelf) == [1, 2, 11, 12]
    (history.layout.journal / "000002.python.shelf.Shelf.json").unlink()
    assert history.publish().outcome is Outcome.DONE
    assert numbers(shelf) == [1, 2, 11, 12]


def test_killed_between_its_commit_and_the_journal_a_row_comes_once(
    history: History, shelf: Path, tmp_path: Path
) -> None:
    history.increment(rows(1))
    with waiting_child(STOPS, tmp_path / "reached", environ=history.environ):
        pass
    assert numbers(shelf) == [1]
    assert history.publish("run-2").outcome is Outcome.DONE
    assert numbers(shelf) == [1]


@pytest.mark.parametrize(
    "code", ["", "import no_such_module", "Shelf = 3", "class Shelf:\n    find = None\n"]
)
def test_a_file_that_holds_no_target_is_said_and_stops_no_other(
    history: History, shelf: Path, code: str
) -> None:
    write(history, code)
    history.increment(rows(1))
    error = error_of(history.publish())
    assert (error["code"], error["data"]["field"]) == ("SpecError", "publish.target")
    assert history.ids() == [1]
    write(history, SHELF)
    assert history.publish().outcome is Outcome.DONE
    assert numbers(shelf) == [1]


def test_a_connection_of_its_own_is_handed_to_the_step(history: History) -> None:
    history.write_spec(
        more='publish: [{kind: delta}, {kind: python, target: "a.b:C", conn_id: shelf}]'
    )
    assert history.pipeline.spec.connections == ("shelf",)
