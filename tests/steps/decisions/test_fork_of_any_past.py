"""Forks under another name of what a rollover, a backfill or another fork has come before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import NAME, rows
from tests.support.histories.rolled_history import RolledHistory, rolled_over, with_transform
from tests.support.kills.killed_step import killed_at
from tests.support.table_reader import read_rows, tree
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.steps.decisions import named_fork as step
from tidemill.steps.decisions.drop import drop
from tidemill.steps.decisions.named_fork import named_fork
from tidemill.steps.decisions.named_fork_plan import plan_named_fork
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum

WHO = {"by": "ada", "reason": "new code"}


class Trial(RolledHistory):
    name = "trial"


class Second(RolledHistory):
    name = "second"


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RolledHistory:
    """Two published increments."""
    history = with_transform(RolledHistory(tmp_path / "pipeline"))
    return known(history, monkeypatch)


def known(history: RolledHistory, monkeypatch: pytest.MonkeyPatch) -> RolledHistory:
    transform = history.project.transform(NAME).with_suffix(".py")
    transform.write_text("def transform(orders): ...\n")
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(history.project.home))
    return history


def fork(history: RolledHistory, kind: type[RolledHistory]) -> RolledHistory:
    named_fork(history.run("fork"), kind.name, **WHO)
    found = kind(history.home, more=history.more)
    assert open_generation(found.pipeline).committed == history.written
    return found


def test_a_fork_of_a_fork_goes_on_from_what_the_original_published(past: RolledHistory) -> None:
    past.go(1)
    past.go(2)
    second = fork(fork(past, Trial), Second)
    second.go(7)
    assert second.ids() == [7]
    (takeover,) = read_takeovers(second.layout.home)
    assert (takeover.pipeline, takeover.first) == (Trial.name, 2)


def test_a_fork_of_a_fork_goes_on_from_what_the_fork_published(past: RolledHistory) -> None:
    past.go(1)
    trial = fork(past, Trial)
    trial.go(2)
    past.go(3)
    second = fork(trial, Second)
    second.go(4)
    assert (past.ids(), trial.ids(), second.ids()) == ([1, 3], [2], [4])


def test_a_fork_after_a_rollover_goes_on_and_rolls_over_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = known(rolled_over(tmp_path / "pipeline"), monkeypatch)
    before = past.ids()
    trial = fork(past, Trial)
    born = current(trial.layout)
    for number in (5, 6, 7, 8):
        assert trial.go(number).outcome is Outcome.DONE
    assert trial.ids() == [5, 6, 7, 8]
    assert current(trial.layout) != born
    assert past.ids() == before


def test_a_fork_after_a_backfill_has_none_of_its_rows(past: RolledHistory) -> None:
    past.go(1)
    past.go(2)
    number = made_again(past, rows(11), partitions=days("2024-01-01"))
    assert past.publish("again").facts["published"][0]["increment"] == number
    trial = fork(past, Trial)
    trial.go(3)
    assert trial.ids() == [3]
    assert 11 in past.ids()


def test_the_suite_of_a_fork_has_its_name(past: RolledHistory) -> None:
    past.go(1)
    past.pipeline.suite_file.parent.mkdir(parents=True, exist_ok=True)
    past.pipeline.suite_file.write_text('{"name": "orders", "expectations": []}')
    trial = fork(past, Trial)
    assert json.loads(trial.pipeline.suite_file.read_text()) == {
        "name": "trial",
        "expectations": [],
    }
    assert json.loads(past.pipeline.suite_file.read_text())["name"] == NAME


def test_an_unfinished_fork_goes_with_the_next_vacuum(
    past: RolledHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.go(1)
    with killed_at(monkeypatch, step, "put_takeover"):
        named_fork(past.run("fork"), Trial.name, **WHO)
    draft = past.layout.forks / Trial.name
    parts = ("checkpoints", "ledger", "table", "generations")
    before = [tree(past.layout.home / part) for part in parts]
    assert [(one.kind, one.path) for one in plan_vacuum(past.run("plan"))] == [("draft", draft)]
    vacuum(past.run("vacuum"))
    assert not draft.exists()
    # Files that it shared with its original are there under their other names.
    assert [tree(past.layout.home / part) for part in parts] == before
    assert plan_named_fork(past.pipeline, Trial.name).first == 1


def test_an_unfinished_fork_goes_with_its_original(
    past: RolledHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.go(1)
    with killed_at(monkeypatch, step, "put_takeover"):
        named_fork(past.run("fork"), Trial.name, **WHO)
    assert [*drop(past.layout, table=True, run_id="drop")]
    assert not past.layout.forks.exists()


def test_a_dropped_fork_leaves_its_original_as_it_was(past: RolledHistory) -> None:
    past.go(1)
    trial = fork(past, Trial)
    trial.go(2)
    before = tree(past.layout.home)
    assert [*drop(trial.layout, table=True, run_id="drop")]
    assert tree(past.layout.home) == before
    assert read_rows(past.layout.table)
    assert not trial.layout.home.exists()
