"""A file source whose runs began hours ago, with what was delivered to it meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, Report
from tidemill.ledger.batch import Batch, Start
from tidemill.storage import documents

MINUTE = timedelta(minutes=1)


class FileFeed:
    """A feed of one file source, whose runs began 3, 2 and 1 hours ago."""

    def __init__(self, history: History) -> None:
        self.history = history
        # A test may run long after this module was imported.
        self.now = datetime.now(UTC)
        self.files = 0
        # A batch of the past, so that there is a generation.
        history.batch(rows(1), inputs=[self.deliver(self.now - timedelta(days=1), 10)])

    def deliver(self, at: datetime, size: int) -> Path:
        """A file of so many bytes, modified then."""
        self.files += 1
        return self.history.arrive(f"{self.files:03d}.csv", "id,at\n".ljust(size, "\n"), at=at)

    def run(
        self, hours_ago: int, inputs: list[Path], minutes: int, stopped: str | None = None
    ) -> None:
        """A run that took those files in, in a batch committed so many minutes after its start."""
        at, ledger = self.now - timedelta(hours=hours_ago), self.history.ledger
        epoch = self.history.start()
        path = ledger.folder / "starts" / f"{epoch:06d}.json"
        start = documents.read(path, Start)
        assert start is not None
        run_id = f"run-{hours_ago}"
        documents.replace(path, start.model_copy(update={"at": at, "run_id": run_id}))
        if inputs:
            number = self.history.batch(rows(hours_ago), inputs=inputs)
            path = ledger.folder / f"{number:06d}.json"
            batch = documents.read(path, Batch)
            assert batch is not None
            committed = at + minutes * MINUTE
            documents.replace(path, batch.model_copy(update={"committed": committed}))
        report = Report(
            pipeline="orders",
            run_id=run_id,
            step="ingest",
            outcome=Outcome.DONE,
            reason="",
            started=at,
            finished=at + minutes * MINUTE,
            facts={"stopped": stopped, "left": {}},
        )
        folder = self.history.layout.run(run_id)
        folder.mkdir(parents=True, exist_ok=True)
        reports.write(report, folder)

    def grow(self, minutes: int, stopped: str | None = None) -> None:
        """Each hour 1,000 bytes more arrive; a run takes in all, or a half where it is stopped."""
        waiting: list[Path] = []
        for hour in (3, 2, 1):
            arrived = self.now - timedelta(hours=hour) - 5 * MINUTE
            waiting += [self.deliver(arrived, 500 * (5 - hour)) for _ in range(2)]
            taken = waiting[: len(waiting) // 2] if stopped else waiting
            waiting = waiting[len(taken) :]
            self.run(hour, taken, minutes, stopped)
        for _ in range(2):
            self.deliver(self.now - 5 * MINUTE, 2500)
