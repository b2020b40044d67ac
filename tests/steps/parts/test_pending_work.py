"""What a run would change, in histories where one thing hides another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tests.support.remedies import carry_out
from tidemill.contract.report import Outcome, Report
from tidemill.reporting.pipeline_status import read_status
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.publish import publish_once


@pytest.fixture
def history(tmp_path: Path) -> History:
    """One increment is published and nothing has come since."""
    history = History(tmp_path / "pipeline")
    history.increment(rows(1))
    history.publish()
    return history


def look(history: History, run_id: str = "look") -> Report:
    return perform("doctor", doctor, history.run(run_id))


def work(history: History, run_id: str = "look") -> list[tuple[str, int | None]]:
    report = look(history, run_id)
    assert report.outcome is Outcome.DONE, report.reason
    return [(one["kind"], one["increment"]) for one in report.facts["work"]]


def test_the_first_file_ever(tmp_path: Path) -> None:
    history = History(tmp_path / "new")
    history.arrive("new.csv")
    assert work(history) == [("ingest", None)]


def test_a_new_file_behind_a_held_increment(history: History) -> None:
    history.increment(rows(2), outcome="held")
    history.arrive("new.csv")
    assert work(history) == [("ingest", None)]


@pytest.mark.parametrize("written", [False, True], ids=["K5", "K7"])
def test_a_planned_batch_without_input_of_its_own(history: History, written: bool) -> None:
    number = history.batch(rows(2), commit=False, inputs=[])
    if not written:
        (history.sink / "_spark_metadata" / str(number)).unlink()
    assert work(history) == [("finish", None)]


def test_a_committed_batch_that_nobody_has_written_down(history: History) -> None:
    number = history.batch(rows(2), commit=False, inputs=[])
    write_commit(history.checkpoint, number)
    assert work(history) == [("seal", None)]
    assert history.ledger.latest() < number, "the doctor only looks"


def test_what_passed_behind_an_increment_without_a_verdict(history: History) -> None:
    history.batch(rows(2))
    history.seal()
    history.increment(rows(3))
    assert work(history) == [("judge", 2)]


def test_a_release_lets_out_what_waited_up_to_the_next_hold(history: History) -> None:
    for number, outcome in ((2, "held"), (3, "passed"), (4, "held"), (5, "passed")):
        history.increment(rows(number), outcome=outcome)  # type: ignore[arg-type]
    assert look(history).facts["held"] == 2
    history.release(4)
    assert look(history).facts["held"] == 2
    history.release(2)
    assert work(history) == [("publish", number) for number in (2, 3, 4, 5)]


def test_a_journal_ahead_of_the_table_until_it_is_applied(history: History) -> None:
    (history.layout.journal / "000001.delta.json").unlink()
    assert work(history) == [("apply", None)]
    history.publish()
    assert look(history).outcome is Outcome.SKIPPED


def test_of_two_held_increments_a_cleared_run_judges_its_own(history: History) -> None:
    history.increment(rows(2), outcome="held")
    history.increment(rows(3), outcome="held")
    assert work(history, "run-3") == [("judge_again", 3)]
    assert work(history, "run-2") == [("judge_again", 2)]
    assert look(history, "run-4").outcome is Outcome.SKIPPED


def test_a_cleared_run_judges_its_own_beside_other_work_and_once(history: History) -> None:
    history.increment(rows(2), outcome="held")
    history.arrive("new.csv")
    assert work(history, "run-2") == [("ingest", None), ("judge_again", 2)]
    history.release(2)
    assert work(history, "run-2") == [("ingest", None), ("publish", 2)]


def test_everything_at_once(history: History) -> None:
    history.increment(rows(2))
    history.batch(rows(3))
    history.seal()
    history.batch(rows(4), commit=False)
    write_commit(history.checkpoint, 3)
    history.batch(rows(5), commit=False, inputs=[history.arrive("new.csv")])
    expected = [("ingest", None), ("finish", None), ("seal", None), ("publish", 2), ("judge", 3)]
    assert work(history) == expected


def held_swap(history: History, **changes: object) -> int:
    """A day computed again and held, though nothing is wrong with its race yet."""
    number = made_again(history, rows(20), partitions=days("2024-01-01"), **changes)
    history.judge(number, "held")
    return number


def test_a_held_swap_is_named_with_the_command_that_lets_it_out(history: History) -> None:
    swap = held_swap(history)
    report = look(history)
    assert (report.outcome, report.facts["held"]) == (Outcome.SKIPPED, swap)
    carry_out(history, report.reason, "release")
    assert work(history) == [("publish", swap)]
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [20]


def test_a_released_swap_is_work_and_goes_out_with_the_next_run(history: History) -> None:
    swap = held_swap(history)
    history.release(swap)
    assert work(history) == [("publish", swap)]
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [20]


def test_a_released_swap_that_lost_its_race_is_computed_again_by_any_run(history: History) -> None:
    swap = held_swap(history)
    history.increment(rows(2))
    history.publish()
    history.release(swap)
    assert work(history) == [("publish", swap)]
    with history.run("next").hold("publish") as held:
        ended = publish_once(held)
    assert (ended.outcome, ended.facts["increment"]) == (Outcome.NEEDS_SPARK, swap)
    (found,) = [one for one in read_status(history.layout).increments if one.increment == swap]
    assert (found.state, found.lost_race is not None) == ("released", True)
    assert history.ids() == [1, 2]


def test_a_swap_that_passed_and_lost_its_race_is_left_to_its_own_run(history: History) -> None:
    swap = made_again(history, rows(20), partitions=days("2024-01-01"))
    history.increment(rows(2))
    assert history.publish("live").outcome is Outcome.DONE
    assert look(history).outcome is Outcome.SKIPPED
    with history.run("again").hold("publish") as held:
        ended = publish_once(held)
    assert (ended.outcome, ended.facts["increment"]) == (Outcome.NEEDS_SPARK, swap)


def test_a_pipeline_to_which_nothing_came_does_not_speak_of_a_last_run(tmp_path: Path) -> None:
    history = History(tmp_path / "new")
    history.arrive("new.csv")
    (history.inputs / "new.csv").unlink()
    assert "last run" not in look(history).reason
