"""What a verdict is told to: the stores, sites and actions of the user's own project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.pages import BLOCKS
from tests.support.parquet_sink import expect
from tidemill.contract.report import Outcome, Report
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

# Each test has a type of its own: what Great Expectations registers in a process stays so.
TYPES = (f"note_{number}" for number in count())
ACTION = """
import json
from pathlib import Path
from typing import Literal
from great_expectations.checkpoint import ValidationAction


class Note(ValidationAction):
    type: Literal["TYPE"] = "TYPE"
    file: str

    def run(self, checkpoint_result, action_context=None):
        if not Path(self.file).parent.is_dir():
            raise RuntimeError("https://ann:secret@pager.example/services/T0/token is gone")
        ((key, result),) = checkpoint_result.run_results.items()
        note = [checkpoint_result.success, key.batch_identifier, result.meta["reasons"]]
        with open(self.file, "a") as notes:
            print(json.dumps(note), file=notes)
        return {"noted": True}
"""
SUITE = {
    "name": "orders",
    "expectations": [
        expect("column_values_to_be_between", column="id", max_value=9),
        expect("column_values_to_be_between", column="id", max_value=5, severity="warning"),
    ],
}


class Slack(BaseHTTPRequestHandler):
    """A webhook that remembers what it is sent, and answers as it is told to."""

    sent: list[str] = []
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).sent.append(body.decode())
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the tests look at what was sent."""


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Slack]]:
    class Webhook(Slack):
        sent: list[str] = []

    server = HTTPServer(("127.0.0.1", 0), Webhook)
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HARBOUR_WEBHOOK", f"http://127.0.0.1:{server.server_port}/token")
    yield Webhook
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def history(tmp_path: Path, slack: type[Slack]) -> History:
    """A pipeline whose project has the settings of the page, and its checkpoint with a note."""
    history = History(tmp_path)
    folder = history.project.expectations
    checkpoint = json.loads(BLOCKS["harbour/expectations/checkpoints/levels.json"])
    kind = next(TYPES)
    note = {"type": kind, "name": "note", "file": str(tmp_path / "notes" / "all")}
    checkpoint |= {"name": "orders", "actions": [note, *checkpoint["actions"]]}
    for name, text in {
        "great_expectations.yml": BLOCKS["harbour/expectations/great_expectations.yml"],
        "plugins/actions.py": ACTION.replace("TYPE", kind),
        "checkpoints/orders.json": json.dumps(checkpoint),
        "suites/orders.json": json.dumps(SUITE),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "notes").mkdir()
    return history


def judged(history: History, run_id: str) -> Report:
    return perform("gate", gate, history.run(run_id))


def notes(history: History) -> list[Any]:
    file = history.home / "notes" / "all"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def stored(history: History) -> list[dict[str, Any]]:
    folder = history.project.expectations / "uncommitted/validations"
    return [json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))]


def pages(history: History) -> list[Path]:
    return sorted((history.project.expectations / "uncommitted/site/validations").rglob("*.html"))


def test_a_held_increment_is_told_to_the_store_the_site_and_the_actions(
    history: History, slack: type[Slack]
) -> None:
    history.batch(rows(1, 20))
    report = judged(history, "first")
    assert report.outcome is Outcome.HELD
    (told,) = notes(history)
    assert told == [False, "orders-000001", report.facts["reasons"]]
    (result,) = stored(history)
    assert (result["success"], result["meta"]["reasons"]) == (False, report.facts["reasons"])
    (page,) = pages(history)
    assert page.name == "orders-000001.html"
    assert len(slack.sent) == 1
    # All was told: the one warning is that of the suite.
    assert report.facts["warnings"] == ["expect_column_values_to_be_between(id): 1 row, 50.00 %"]


def test_a_passed_increment_is_told_as_a_success_and_slack_is_left_alone(
    history: History, slack: type[Slack]
) -> None:
    history.batch(rows(1, 2))
    assert judged(history, "first").facts["warnings"] == []
    assert notes(history) == [[True, "orders-000001", []]]
    assert (len(stored(history)), len(pages(history)), slack.sent) == (1, 1, [])


def test_what_only_warns_passes_and_is_a_failure_to_notify_on(
    history: History, slack: type[Slack]
) -> None:
    history.batch(rows(1, 7))
    assert judged(history, "first").outcome is Outcome.DONE
    assert (notes(history)[0][0], len(slack.sent)) == (False, 1)


def test_an_increment_without_rows_that_is_held_is_told_with_its_reason(history: History) -> None:
    history.batch([], [reject("x", day="2024-01-01")])
    report = judged(history, "first")
    assert report.outcome is Outcome.HELD
    assert notes(history) == [[False, "orders-000001", report.facts["reasons"]]]


def test_an_action_that_fails_is_a_warning_without_its_secrets_and_changes_nothing_else(
    history: History, slack: type[Slack]
) -> None:
    (history.home / "notes").rmdir()
    slack.status = 500
    history.batch(rows(1, 20))
    report = judged(history, "first")
    assert report.outcome is Outcome.HELD
    _, note, harbour, again = report.facts["warnings"]
    assert "action note of checkpoint orders: RuntimeError" in note
    assert "pager.example" in note
    assert "secret" not in note
    assert "token" not in note + harbour
    assert "action harbour of checkpoint orders" in harbour
    assert "tidemill run orders --run-id first" in again
    assert (len(stored(history)), len(pages(history))) == (1, 1)


def test_a_store_that_cannot_be_written_loses_neither_verdict_nor_actions(history: History) -> None:
    (history.project.expectations / "uncommitted").write_text("a file, where a folder has to be")
    history.batch(rows(1, 2))
    report = judged(history, "first")
    assert report.outcome is Outcome.DONE
    assert history.snapshot.get(1).verdicts[-1].outcome == "passed"
    assert len(report.facts["warnings"]) > 1


def test_what_was_not_told_is_told_again_once_it_can_be_and_no_more(history: History) -> None:
    history.batch(rows(1, 2))
    (history.home / "notes").rmdir()
    judged(history, "first")
    history.publish("first")
    (history.home / "notes").mkdir()
    for _ in range(2):
        assert judged(history, "first").facts["warnings"] == []
        assert notes(history) == [[True, "orders-000001", []]]


def test_values_of_masked_columns_reach_neither_store_nor_site(history: History) -> None:
    history.write_spec(more="gate: {mask: [id]}")
    history.batch(rows(1, 4711))
    judged(history, "first")
    texts = [json.dumps(stored(history)), *(page.read_text() for page in pages(history))]
    assert len(texts) == 2
    assert not any("4711" in text for text in texts)


def test_markup_in_a_value_is_shown_as_text(history: History) -> None:
    script = "<script>alert(1)</script>"
    only = [expect("column_values_to_be_in_set", column="text", value_set=["plain"])]
    suite = history.project.suite("orders")
    suite.write_text(json.dumps({**SUITE, "expectations": only}))
    history.batch(rows(1, text=script))
    judged(history, "first")
    (page,) = pages(history)
    assert script not in page.read_text()
    assert "alert(1)" in page.read_text()


def test_a_preview_tells_nothing(history: History) -> None:
    history.batch(rows(1, 2))
    run = history.run("first")
    perform("gate", gate, RunContext(run.pipeline, run.run_id, run.log, tells=False))
    assert (notes(history), stored(history), pages(history)) == ([], [], [])


def test_a_checkpoint_of_another_suite_is_left_alone(history: History) -> None:
    checkpoint = history.project.expectations / "checkpoints/orders.json"
    other = {**json.loads(checkpoint.read_text()), "name": "others"}
    checkpoint.with_name("others.json").write_text(json.dumps(other))
    checkpoint.unlink()
    history.batch(rows(1, 2))
    assert judged(history, "first").facts["warnings"] == []
    assert (notes(history), len(stored(history))) == ([], 1)
