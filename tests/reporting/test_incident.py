"""An incident says what a person needs to decide about a held increment."""

from __future__ import annotations

import json
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


def test_what_an_aggregate_observed_is_told_unless_its_column_is_masked(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.increment(rows(1))
    for observed in (2.0, 1_000.5):
        aggregate = judged(50.0, unexpected_count=None, unexpected_percent=None)
        outcome = aggregate.outcomes[0].model_copy(update={"observed_value": observed})
        history.batch(rows(1))
        number = history.seal().increment
        found = aggregate.model_copy(update={"outcomes": (outcome,)})
        history.judge(number, "held", judgement=found)
    (failure,) = incident(history, number=3).failures
    assert failure.observed == "1,000.5"
    assert [one.value for one in failure.history] == [None, 2.0, 1000.5]
    (masked,) = incident(history, Gate(mask=("ID",)), number=3).failures
    assert masked.observed == "not shown, as gate.mask says"
    assert [one.value for one in masked.history] == [None, None, None]


def test_a_long_value_is_cut_short(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch(rows(1))
    history.judge(history.seal().increment, "held", judgement=judged(50.0, samples=("x" * 999,)))
    (failure,) = incident(history, number=1).failures
    assert len(failure.samples[0]) < 400


def test_what_no_gate_has_judged_can_be_rejected_or_computed_again(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch(rows(1))
    number = history.seal().increment
    found = incident(history, number=number)
    assert (found.failures, found.judged_in) == ((), None)
    assert [one.action for one in found.choices] == ["reject", "redo"]


def test_a_judgement_of_another_version_leaves_the_reasons(tmp_path: Path) -> None:
    history = held(tmp_path)
    verdict = history.increments.folder_of(4) / "001.json"
    content = json.loads(verdict.read_text())
    content["judgement"]["unknown"] = True
    verdict.write_text(json.dumps(content))
    (failure,) = incident(history).failures
    assert failure.observed.startswith(RULE)


def test_no_more_samples_are_read_than_the_spec_wants(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch([], [reject("1;x"), reject("2;x")])
    history.batch([], [reject("3;x")])
    number = history.seal().increment
    history.judge(number, "held")
    assert len(incident(history, Gate(samples=1), number).rejected_rows) == 1


def test_the_data_docs_page_is_named_within_the_pipelines_docs(tmp_path: Path) -> None:
    history = History(tmp_path)
    for page in (history.layout.docs / "validations" / "a.html", tmp_path / "elsewhere.html"):
        history.batch(rows(1))
        bad = judged(50.0).model_copy(update={"docs": page})
        history.judge(history.seal().increment, "held", judgement=bad)
    assert incident(history, number=1).docs == "validations/a.html"
    assert incident(history, number=2).docs is None
