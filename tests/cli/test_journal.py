"""`tidemill journal`: what goes out, and a way out where no target can apply an event."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.generation_builder import tail_redone
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode, LeaseLost
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.journal.journal import Event
from tidemill.publish.delta.table_schema import SchemaChanged
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.withdrawal import withdraw_event
from tidemill.steps.decisions import withdraw as steps
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.lease import newest_epoch
from tidemill.storage.run_context import LeasedRun


@pytest.fixture(autouse=True)
def no_target_takes_the_second(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three events, of which the table refuses the second, after its rejected rows were copied."""
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), [reject("a")])
    history.increment(rows(3), [reject("b")])

    def refuse(*_: object) -> None:
        raise SchemaChanged("No.", remedy="Mend it.", changes=[])

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTarget, "_commit", refuse)
        assert history.publish().outcome is Outcome.REFUSED
    assert history.records() == ["a"]


def withdraw(tidemill: Tidemill, event: int) -> list[int]:
    answer = tidemill(
        "journal", "withdraw", "orders", str(event), "--reason", "bad", "--by", "Ada", "--json"
    )
    assert answer.exit_code == ExitCode.DONE, answer.stdout
    return [one["seq"] for one in answer.json["withdrawn"]]


def test_it_shows_what_each_target_has(tidemill: Tidemill) -> None:
    events = tidemill("journal", "show", "orders", "--json").json["events"]
    assert [(one["event"], one["increment"], one["targets"]) for one in events] == [
        (1, 1, ["delta"]),
        (2, 2, []),
        (3, 3, []),
    ]


def test_a_withdrawn_event_counts_nowhere_and_its_increment_waits_for_a_person(
    tidemill: Tidemill, history: History
) -> None:
    assert withdraw(tidemill, 2) == [2, 3]
    assert [event.seq for event in history.journal.events()] == [1]
    assert history.journal.behind("delta") == []
    assert history.records() == []
    states = [one["state"] for one in tidemill("status", "orders", "--json").pipeline["increments"]]
    assert states == ["published", "held", "passed"]
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1]
    said = tidemill("journal", "show", "orders", "--json").json["events"][1]["withdrawn"]
    assert (said["by"], said["reason"]) == ("Ada", "bad")
    report = perform("doctor", doctor, history.run())
    assert (report.outcome, report.facts.get("held")) == (Outcome.SKIPPED, 2)


def test_an_event_whose_withdrawal_was_killed_does_not_go_out_again(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def withdraw_and_die(run: LeasedRun, event: Event, **more: Any) -> Any:
        done = withdraw_event(run, event, **more)
        if event.seq == 2:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr("tidemill.steps.decisions.withdraw.withdraw_event", withdraw_and_die)
    with pytest.raises(KeyboardInterrupt):
        steps.withdraw(history.run("killed"), 2, by="Ada", reason="bad")
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1]


def test_released_after_all_it_goes_out_with_its_rejected_rows(
    tidemill: Tidemill, history: History
) -> None:
    withdraw(tidemill, 2)
    history.release(2)
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 2, 3], ["a", "b"])
    assert perform("doctor", doctor, history.run()).outcome is Outcome.SKIPPED
    assert [event.seq for event in history.journal.events()] == [1, 4, 5]


def test_a_redo_takes_its_place(tidemill: Tidemill, history: History) -> None:
    withdraw(tidemill, 2)
    tail_redone(history, 2, 3)
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 20, 30], ["c"])
    assert history.snapshot.get(2).state is State.SUPERSEDED


@pytest.mark.parametrize(("event", "target"), [(1, "delta"), (9, None)])
def test_what_a_target_has_stays(
    tidemill: Tidemill, history: History, event: int, target: str | None
) -> None:
    answer = tidemill("journal", "withdraw", "orders", str(event), "--reason", "bad", "--json")
    assert answer.exit_code == ExitCode.USAGE
    assert (answer.json["code"], answer.json["data"]["target"]) == ("NotWithdrawable", target)
    assert len(history.journal.events()) == 3


def test_what_a_target_has_stays_though_nobody_wrote_it_down(
    tidemill: Tidemill, history: History
) -> None:
    (history.layout.journal / "000001.delta.json").unlink()
    answer = tidemill("journal", "withdraw", "orders", "1", "--reason", "bad", "--json")
    assert answer.json["data"]["target"] == "delta"


def test_a_writer_that_was_paused_cannot_put_it_into_the_table_any_more(
    tidemill: Tidemill, history: History
) -> None:
    paused = DeltaTarget(history.layout, newest_epoch(history.layout.lease))
    event = history.journal.events()[1]
    payload = history.payload(event)
    withdraw(tidemill, 2)
    with pytest.raises(LeaseLost):
        paused.apply(event, payload)
    assert history.ids() == [1]
