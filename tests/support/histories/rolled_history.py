"""A pipeline's past whose batches go to the live generation, whichever that is."""

from __future__ import annotations

from pathlib import Path

from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Report
from tidemill.journal.takeovers import current
from tidemill.ledger.ledger import Ledger


class RolledHistory(History):
    """One pipeline; after a rollover Spark goes on in the new generation."""

    @property
    def checkpoint(self) -> Path:
        return self.layout.checkpoint(current(self.layout))

    @property
    def sink(self) -> Path:
        return self.layout.sink(current(self.layout))

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.layout, current(self.layout))

    def go(self, *ids: int) -> Report:
        """Publish an increment with a batch for each id."""
        for number in ids:
            self.batch(rows(number))
        self.judge(self.seal().increment)
        return self.publish()


def with_transform(history: RolledHistory) -> RolledHistory:
    """Write the transform that a rewind compares with the one of before."""
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    return history


def rolled_over(home: Path) -> RolledHistory:
    """Four published increments, of which the third has led to a rollover."""
    history = with_transform(RolledHistory(home, more="rollover: {after_batches: 3}"))
    for number in (1, 2, 3, 4):
        history.go(number)
    assert current(history.layout) == "live-0002"
    return history
