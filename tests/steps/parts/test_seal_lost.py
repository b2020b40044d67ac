"""Whoever seals, forks or takes over second is told so, and never takes another's for its own."""

from __future__ import annotations

import pytest

from tests.support.histories.generation_builder import days, write_scratch
from tests.support.histories.history_builder import History, rows
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import read_run_increment
from tidemill.steps.decisions.recomputed import ErasedMeanwhile, seal_recomputed
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.storage.documents import AlreadyWritten
from tidemill.storage.lease import Lease, newest_epoch


class Recomputed:
    """What a backfill has computed."""

    rows = 1
    rejected = 0
    erasure = 0

    def __init__(self, place: BatchRange, recomputation: Recomputation) -> None:
        self.place = place
        self.recomputation = recomputation


def test_a_backfill_does_not_report_an_increment_that_another_run_sealed_meanwhile(
    history: History,
) -> None:
    history.increment(rows(1))
    history.publish()

    class Paused(Lease):
        """Stopped right after its look at the lease, while a gate elsewhere seals a batch."""

        def check(self) -> None:
            super().check()
            history.batch(rows(2))
            history.seal("another")

    found = backfilled(history)
    lease = Paused(history.layout.lease, newest_epoch(history.layout.lease))
    with pytest.raises(AlreadyWritten):
        seal_recomputed(history.run("backfill").holding(lease), found)  # type: ignore[arg-type]
    assert read_run_increment(history.layout.run("backfill")) is None
    assert read_run_increment(history.layout.run("another")) == 2


def test_what_was_computed_before_an_erasure_is_not_sealed_after_it(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    found = backfilled(history)
    condition = Condition({"text": ("row 10",)})
    erase(history.run("erase"), condition, by="ann", reason="a request")
    # What was still being written by then.
    write_scratch(history, Ledger(history.layout, "backfill-1"), 0, rows(10), ())
    with history.run("backfill").hold("backfill") as held, pytest.raises(ErasedMeanwhile):
        seal_recomputed(held, found)  # type: ignore[arg-type]
    assert not history.layout.sink("backfill-1").exists()
    assert history.increments.numbers() == [1]


def backfilled(history: History) -> Recomputed:
    """A row that was computed again, and is not sealed."""
    write_scratch(history, Ledger(history.layout, "backfill-1"), 0, rows(10), ())
    recomputation = Recomputation(
        kind="backfill",
        generation="live-0001",
        first=0,
        last=0,
        seq=1,
        partitions=days("2024-01-01"),
        code_hash="new",
        spec_hash="spec",
        by="ann",
        reason="the rule was wrong",
    )
    return Recomputed(BatchRange(generation="backfill-1", first=0, last=0), recomputation)
