"""A redo beside other runs: it loses what was published meanwhile, and never blocks what comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.histories.generation_builder import days, made_again, write_scratch
from tests.support.histories.history_builder import History, rows
from tests.support.histories.refused_states import published
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.steps.decisions.redo import redo
from tidemill.steps.decisions.release import NotHeld, release
from tidemill.steps.doctor import doctor
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform

Patch = pytest.MonkeyPatch
REQUEST = RunRequest(role="redo", by="ann", reason="the rule was wrong")


@pytest.fixture
def history(history: History) -> History:
    """A published increment, with the files that a gate and a redo read."""
    published(history)
    return history


@dataclass
class Recomputed:
    """What Spark computed."""

    place: BatchRange
    recomputation: Recomputation
    rows: int
    rejected: int
    erasure: int = 0


def spark_that_takes_long(history: History, patch: Patch, meanwhile: Callable[[], object]) -> None:
    """Let a redo compute one row, while something else happens."""

    def recompute(_session: Any, _run: Any, recomputation: Recomputation, *_: Any) -> Recomputed:
        meanwhile()
        scratch = Ledger(history.layout, "redo-1")
        batch = write_scratch(history, scratch, recomputation.last, rows(20), ())
        place = BatchRange(
            generation=scratch.generation, first=recomputation.last, last=recomputation.last
        )
        return Recomputed(place, recomputation, batch.rows, batch.rejected)

    patch.setattr("tidemill.engine.recompute.recompute.recompute", recompute)
    patch.setattr("tidemill.engine.session.open_session", lambda *_: None)


def test_a_redo_whose_tail_was_published_meanwhile_is_refused_whatever_was_sealed_since(
    history: History, monkeypatch: Patch
) -> None:
    held = history.increment(rows(2), outcome="held")
    history.increment(rows(3))

    def released_and_more_arrives() -> None:
        history.release(held)
        history.publish()
        history.increment(rows(4), outcome="held")

    spark_that_takes_long(history, monkeypatch, released_and_more_arrives)
    report = perform("ingest", lambda run: redo(run, REQUEST), history.run("redo"))
    assert report.error is not None
    assert report.error["code"] == "NothingToRedo"
    assert history.increments.numbers() == [1, 2, 3, 4]
    history.release(4)
    history.increment(rows(5))
    assert history.publish("later").outcome is Outcome.DONE
    assert history.ids() == [1, 2, 3, 4, 5]


def test_a_redo_that_nobody_overtook_takes_the_place_of_its_tail(
    history: History, monkeypatch: Patch
) -> None:
    history.increment(rows(2), outcome="held")
    spark_that_takes_long(history, monkeypatch, lambda: history.increment(rows(3)))
    report = perform("ingest", lambda run: redo(run, REQUEST), history.run("redo"))
    assert report.outcome is Outcome.DONE
    history.judge(report.facts["increment"])
    assert history.publish("redo").outcome is Outcome.DONE
    assert history.ids() == [1, 3, 20]


def never_judged(history: History, patch: Patch, **recomputation: Any) -> int:
    """What was computed again by a run that was killed before its verdict, and never came back."""
    with patch.context() as inside:
        inside.setattr(History, "judge", lambda *_: None)
        return made_again(history, rows(20), run_id="killed", **recomputation)


def test_a_redo_that_died_before_its_verdict_is_judged_by_the_next_run(
    history: History, monkeypatch: Patch
) -> None:
    held = history.increment(rows(2), outcome="held")
    redo_of = {"kind": "redo", "first": 1, "last": 1, "supersedes": (held,)}
    number = never_judged(history, monkeypatch, **redo_of)
    history.batch(rows(3))
    found = perform("doctor", doctor, history.run("next"))
    assert ("judge", number) in {(one["kind"], one["increment"]) for one in found.facts["work"]}
    with pytest.raises(NotHeld) as refused:
        release(history.pipeline, number, by="ann", reason="known", run_id="release")
    assert "tidemill run" in refused.value.remedy
    report = perform("gate", gate, history.run("next"))
    assert report.outcome is Outcome.DONE
    own = read_run_increment(history.layout.run("next"))
    assert own == report.facts["increment"] == number + 1
    assert history.snapshot.get(number).state is State.PASSED
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [1, 3, 20]


def test_so_is_a_backfill(history: History, monkeypatch: Patch) -> None:
    number = never_judged(history, monkeypatch, partitions=days("2024-01-01"))
    found = perform("doctor", doctor, history.run("next"))
    assert [(one["kind"], one["increment"]) for one in found.facts["work"]] == [("judge", number)]
    assert perform("gate", gate, history.run("next")).outcome is Outcome.DONE
    assert read_run_increment(history.layout.run("next")) is None
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [20]
    assert perform("doctor", doctor, history.run("idle")).outcome is Outcome.SKIPPED
