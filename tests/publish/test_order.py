"""Strictly in the order of increments: whatever passed waits behind what is held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.target import NotOurTurn
from tidemill.storage import run_context
from tidemill.storage.lease import Lease, hold


def test_passed_increments_go_out_one_version_each(history: History) -> None:
    for number in (1, 2, 3):
        history.increment(rows(number))
    report = history.publish("run-3")
    assert [(p["increment"], p["version"], p["batches"]) for p in report.facts["published"]] == [
        (1, 0, [0, 0]),
        (2, 1, [1, 1]),
        (3, 2, [2, 2]),
    ]
    assert history.ids() == [1, 2, 3]


def test_an_increment_of_several_batches_goes_out_whole(history: History) -> None:
    history.batch(rows(1))
    history.batch(rows(2), [reject("a")])
    history.batch(rows(3), [reject("b")])
    history.judge(history.seal().increment)
    (published,) = history.publish().facts["published"]
    assert (published["batches"], published["rows"], published["rejected"]) == ([0, 2], 3, 2)
    assert (history.ids(), history.records(), len(history.log())) == ([1, 2, 3], ["a", "b"], 1)


def test_of_a_held_increment_no_reader_sees_a_row(history: History) -> None:
    history.increment(rows(1), [reject("bad")], outcome="held")
    report = history.publish("run-1")
    assert (report.outcome, report.exit_code) == (Outcome.WAITING, ExitCode.HELD)
    assert (report.facts["held"], report.facts["published"]) == (1, [])
    assert (history.ids(), history.records()) == ([], [])
    assert (history.log(), history.log(history.layout.rejected)) == ([], [])


def test_what_passed_waits_behind_what_is_held(history: History) -> None:
    history.increment(rows(1))
    history.increment(rows(2), outcome="held")
    history.increment(rows(3), [reject("late")])
    report = history.publish("run-3")
    assert (report.outcome, report.facts["held"]) == (Outcome.WAITING, 2)
    assert [p["increment"] for p in report.facts["published"]] == [1]
    assert (history.ids(), history.records()) == ([1], [])


def test_after_a_release_all_go_out_in_order(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))
    assert history.publish("run-3").facts["held"] == 1
    history.release(1)
    report = history.publish("run-3")
    assert (report.outcome, report.facts["held"]) == (Outcome.WAITING, 2)
    assert history.ids() == [1]
    history.release(2)
    report = history.publish("run-3")
    assert report.outcome is Outcome.DONE
    assert [p["increment"] for p in report.facts["published"]] == [2, 3]
    assert [event.increment for event in history.journal.events()] == [1, 2, 3]
    assert history.ids() == [1, 2, 3]


def test_after_a_second_judgement_it_goes_out_too(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.increment(rows(2))
    history.judge(1, "passed")
    history.publish()
    assert history.ids() == [1, 2]


def test_an_increment_without_a_verdict_stops_those_after_it(history: History) -> None:
    history.batch(rows(1))
    history.seal()
    history.increment(rows(2))
    report = history.publish("run-2")
    assert report.facts["published"] == []
    assert report.outcome is Outcome.WAITING
    assert history.ids() == []


def test_a_run_whose_own_increment_has_no_verdict_has_not_published_it(history: History) -> None:
    history.batch(rows(1))
    history.seal("mine")
    report = history.publish("mine")
    assert report.outcome is Outcome.WAITING
    assert history.ids() == []


def test_a_verdict_that_came_while_publish_waited_for_the_lease_counts(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))

    @contextmanager
    def after_a_gate(folder: Path, **options: Any) -> Iterator[Lease]:
        history.judge(1, "held")
        with hold(folder, **options) as lease:
            yield lease

    monkeypatch.setattr(run_context, "hold", after_a_gate)
    assert history.publish("run-1").outcome is Outcome.WAITING
    assert history.ids() == []


def test_a_target_refuses_an_event_that_is_not_its_next(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    (event,) = history.journal.events()
    target = DeltaTarget(history.layout, epoch=99)
    ahead = event.model_copy(update={"first": 4, "last": 4})
    with pytest.raises(NotOurTurn) as refused:
        target.apply(ahead, history.payload(event))
    assert (refused.value.head, refused.value.first) == (0, 4)
    assert history.ids() == [1]
    assert len(history.log()) == 1


def test_without_the_generations_note_nothing_goes_out(history: History) -> None:
    history.increment(rows(1))
    history.layout.note("live-0001").unlink()
    report = history.publish("run-1")
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "GenerationUnbound"


def test_an_increment_of_rejected_rows_only_can_be_released(history: History) -> None:
    history.increment([], [reject("a"), reject("b")], outcome="held")
    history.release(1)
    history.increment(rows(1))
    assert history.publish("run-2").outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1], ["a", "b"])


def test_an_empty_increment_can_be_released(history: History) -> None:
    history.increment([], outcome="held")
    history.release(1)
    history.increment(rows(1))
    assert history.publish("run-2").outcome is Outcome.DONE
    assert (history.ids(), len(history.log())) == ([1], 2)
