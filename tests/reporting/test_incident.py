"""An incident says what a person needs to decide about a held increment."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.net_history_builder import NetHistory, count
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.increments.increments import Rejection
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.spec import Gate

RULE = "expect_column_values_to_be_between"


def judged(percent: float, **more: Any) -> Judgement:
    """A judgement of one rule, which so many percent of the rows broke."""
    given: dict[str, Any] = {"unexpected_count": int(percent), "unexpected_percent": percent}
    outcome = ExpectationOutcome(
        type=RULE,
        columns=("id",),
        kwargs={"column": "id", "min_value": 0, "mostly": 0.9},
        severity="critical",
        scope="increment",
        success=percent <= 10,
        **(given | more),
    )
    return Judgement(
        engine="in_process",
        suite="orders",
        suite_hash="suite",
        rows=100,
        success=outcome.success,
        reason=None if outcome.success else "expectations",
        outcomes=(outcome,),
    )


def held(home: Path) -> History:
    """Three increments that passed, one that is held, and one that waits."""
    history = History(home)
    for percent in (1.0, 2.0, 3.0):
        history.batch(rows(1))
        history.judge(history.seal().increment, judgement=judged(percent))
    history.publish()
    history.batch(rows(5, 6), [reject("1;x"), reject("2;y")])
    bad = judged(50.0, samples=("-1", "-2"))
    history.judge(history.seal().increment, "held", judgement=bad)
    history.increment(rows(7))
    return history


def incident(history: History, gate: Gate | None = None, number: int = 4) -> Incident:
    return read_incident(history.layout, number, gate or Gate())


def test_a_held_increment_tells_what_it_broke_and_how_that_was_before(tmp_path: Path) -> None:
    found = incident(held(tmp_path))
    (failure,) = found.failures
    assert (failure.rule, failure.columns) == (RULE, ("id",))
    assert failure.expected == "min_value 0, mostly 0.9"
    assert failure.observed == "50 rows, 50.00 %, broke it"
    assert failure.samples == ("-1", "-2")
    assert [(one.increment, one.value, one.good) for one in failure.history] == [
        (1, 1.0, True),
        (2, 2.0, True),
        (3, 3.0, True),
        (4, 50.0, False),
    ]
    assert found.books.rejected == 2
    assert found.rejected_by_reason == {"malformed": 2}


def test_what_waits_and_the_files_it_came_from_are_named(tmp_path: Path) -> None:
    found = incident(held(tmp_path))
    assert [one.increment for one in found.waiting] == [5]
    assert [file.on_disk.name for file in found.inputs] == ["f0003.csv"]
    assert found.judged_in == "run-4"


def test_a_masked_column_is_shown_nowhere(tmp_path: Path) -> None:
    history = held(tmp_path)
    found = incident(history, Gate(mask=("id",)))
    (failure,) = found.failures
    assert (failure.masked, failure.samples) == (True, ())
    assert {row["record"] for row in found.rejected_rows} == {"***"}
    assert failure.observed == "50 rows, 50.00 %, broke it"
    assert incident(history, Gate(samples=0)).rejected_rows == ()


def test_each_decision_that_applies_has_its_consequence(tmp_path: Path) -> None:
    history = held(tmp_path)
    found = incident(history)
    assert [one.action for one in found.choices] == ["release", "reject", "redo"]
    assert all(one.consequence for one in found.choices)
    assert incident(history, number=3).choices == ()
    assert incident(history, number=5).choices == ()


def test_with_state_nothing_can_be_rejected(tmp_path: Path) -> None:
    history = NetHistory(tmp_path, pipeline_class=PipelineClass.WINDOW)
    number = history.increment([count("open", 1, 1)], outcome="held")
    found = incident(history, number=number)
    assert [one.action for one in found.choices] == ["release", "redo"]
    assert (found.books.late, found.books.filtered) == (None, None)


def test_counts_that_hold_are_told_beside_their_share(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.increment(rows(1))
    number = history.increment(rows(1), [reject("1;x")] * 3, outcome="held")
    (failure,) = incident(history, number=number).failures
    assert failure.observed == "bad"
    assert [one.value for one in failure.history] == [0.0, 75.0]


def test_a_rejected_increment_can_be_reinstated_once_it_was_passed_over(tmp_path: Path) -> None:
    history = held(tmp_path)
    history.increments.decide(
        Rejection(
            increment=4,
            files_hash=history.snapshot.get(4).sealed.files_hash,
            by="ann",
            reason="broken sensor",
            rejected=datetime.now(UTC),
        )
    )
    assert incident(history).choices == ()
    history.publish()
    assert [one.action for one in incident(history).choices] == ["reinstate"]


def test_rejected_rows_whose_files_were_vacuumed_are_counted_all_the_same(tmp_path: Path) -> None:
    history = held(tmp_path)
    for batch in history.ledger.batches():
        for file in batch.outputs:
            (history.sink / file.path).unlink()
    found = incident(history)
    assert (found.rejected_rows, found.rejected_by_reason, found.books.rejected) == ((), {}, 2)
