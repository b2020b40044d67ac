"""A generation that would give rows other times is built only where the spec allows it."""

from __future__ import annotations

import pytest

from tests.support.histories.history_builder import History
from tests.support.histories.refused_states import published
from tidemill.generations.build import BatchTimeLost, refuse_lost_batch_times
from tidemill.ledger.batch_times import with_batch_time
from tidemill.ledger.run_request import RunRequest
from tidemill.steps.decisions.rebuild import rebuild

REBUILD = RunRequest(role="rebuild", by="ada", reason="the rule was wrong", dry_run=True)
BATCH = "statics: {run: {kind: batch}}\n"


def say(history: History, text: str) -> None:
    spec = history.project.spec("orders")
    spec.write_text(spec.read_text() + text)


def test_a_rebuild_that_would_give_rows_other_times_is_refused(history: History) -> None:
    published(history)
    say(history, BATCH)
    with pytest.raises(BatchTimeLost) as refused:
        rebuild(history.run("rebuild"), REBUILD)
    assert refused.value.statics == ["run"]


def test_who_accepts_other_times_may_build_it(history: History) -> None:
    published(history)
    say(history, BATCH + "deterministic: false\n")
    refuse_lost_batch_times(history.pipeline, "fork")
    assert history.pipeline.spec.given_up is not None


def test_a_batch_from_before_has_the_time_of_the_start_that_planned_it(history: History) -> None:
    published(history)
    ledger = history.ledger
    (start, *_), (batch, *_) = ledger.starts(), ledger.batches()
    pin = with_batch_time(batch.static, ["run"], ledger, batch.batch)["run"].batch
    assert pin is not None
    assert (pin.at, pin.run_id, pin.interval_end) == (start.at, start.run_id, None)
