"""What lost its race is computed again, or dropped where there is nothing left to seal."""

from __future__ import annotations

import pytest

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Outcome
from tidemill.increments.increments import State
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.steps.decisions import recompute_lost
from tidemill.steps.decisions.recomputed import note
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext

DAY = days("2024-01-01")


@pytest.mark.parametrize("released", [False, True])
def test_what_lost_its_race_to_the_same_rows_is_dropped(
    history: History, monkeypatch: pytest.MonkeyPatch, released: bool
) -> None:
    history.increment(rows(1))
    history.publish()
    winner = made_again(history, rows(10), run_id="winner", partitions=DAY)
    loser = made_again(history, rows(10), run_id="loser", partitions=DAY)
    if released:
        history.judge(loser, "held")
        history.release(loser)
    request = RunRequest(role="backfill", by="ann", reason="the rule was wrong")
    fix_request(history.layout.run("loser"), request)

    def holds_just_that(run: RunContext, *_: object) -> Ended:
        note(run, winner)
        return Ended(Outcome.DONE, f"increment {winner:06d} holds just that")

    monkeypatch.setattr(recompute_lost, "_computed", holds_just_that)
    assert history.publish("winner").outcome is Outcome.DONE
    assert history.publish("loser").outcome is Outcome.DONE
    assert history.snapshot.get(loser).state is State.DROPPED
    assert read_run_increment(history.layout.run("loser")) == winner
    assert history.publish("next").outcome is Outcome.DONE
    assert history.ids() == [10]
