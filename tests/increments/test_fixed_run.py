"""What a run does when Airflow does it once more, and its id in the books then."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, Report
from tidemill.increments.fixed_run import fix_run, has_run_dry
from tidemill.ledger.reprocessed_run import current_run_id
from tidemill.ledger.run_request import LIVE, RunRequest

DAY = {"start": datetime(2024, 1, 1, tzinfo=UTC), "end": datetime(2024, 1, 2, tzinfo=UTC)}
BACKFILL = RunRequest(role="backfill", by="ada", **DAY)
RUN, AGAIN = "run-1", "run-1.reprocessed-1"


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Run 1 has taken in a day."""
    history = History(tmp_path)
    history.increment(rows(1))
    return history


def computed(history: History, run_id: str) -> None:
    made_again(history, rows(1), run_id=run_id, partitions=days("2024-01-01"))


def has_computed(history: History, run_id: str, outcome: Outcome) -> None:
    """The ingest of a run has ended."""
    now = datetime.now(UTC)
    report = Report(
        pipeline=history.name,
        run_id=run_id,
        step="ingest",
        outcome=outcome,
        reason="3 rows would be added",
        started=now,
        finished=now,
    )
    reports.write(report, history.layout.run(run_id))


def test_a_live_run_is_a_backfill_under_another_id_published_or_not(history: History) -> None:
    assert fix_run(history.layout, RUN, LIVE) == (RUN, LIVE)
    run_id, request = fix_run(history.layout, RUN, BACKFILL)
    assert (run_id, request.role) == (AGAIN, "backfill")
    assert current_run_id(history.layout, RUN) == AGAIN


def test_a_backfill_is_finished_before_it_is_repeated(history: History) -> None:
    history.publish()
    fix_run(history.layout, RUN, BACKFILL)
    computed(history, AGAIN)
    assert fix_run(history.layout, RUN, BACKFILL)[0] == AGAIN
    history.publish(AGAIN)
    assert fix_run(history.layout, RUN, BACKFILL)[0] == "run-1.reprocessed-2"


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.FAILED])
def test_a_real_backfill_follows_a_dry_run_whatever_came_of_it(
    history: History, outcome: Outcome
) -> None:
    dry = BACKFILL.model_copy(update={"dry_run": True})
    fix_run(history.layout, "dry", dry)
    assert not has_run_dry(history.layout, "dry")
    has_computed(history, "dry", outcome)
    assert has_run_dry(history.layout, "dry") is (outcome is Outcome.DONE)
    run_id, request = fix_run(history.layout, "dry", BACKFILL)
    assert (run_id, request.dry_run) == ("dry.reprocessed-1", False)
