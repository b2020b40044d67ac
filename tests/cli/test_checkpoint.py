"""`tidemill checkpoint repair`: what it will do is shown, and done only if somebody says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows
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
