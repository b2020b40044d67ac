"""The budget of a run, checked after each batch."""

import time
from threading import Event

from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.metadata_log import batch_files
from tidemill.spec.settings import Budget

POLL_SECONDS = 0.05


class Spending:
    """The input that a run has used since its query started.

    Args:
        ledger: The generation's ledger, complete; the query's follower writes on.
    """

    def __init__(self, budget: Budget, ledger: Ledger) -> None:
        self._budget = budget
        self._ledger = ledger
        self._began = time.monotonic()
        self._before = self._seen = ledger.latest()
        self._bytes = 0

    def used_up(self, given_up: Event) -> str | None:
        """The first limit that is reached, such as `budget.max_batches`; None if none is.

        Args:
            given_up: Set when the ledger is no longer written; until then the answer may wait.
        """
        committed = max(batch_files(self._ledger.checkpoint / "commits"), default=-1)
        if self._budget.max_bytes is not None and committed > self._seen:
            self._bytes += self._bytes_of(self._seen + 1, committed, given_up)
        self._seen = max(self._seen, committed)
        minutes = (time.monotonic() - self._began) / 60
        spent = {
            "max_batches": self._seen - self._before,
            "max_bytes": self._bytes,
            "max_minutes": minutes,
        }
        limits = self._budget.model_dump(exclude_none=True)
        reached = (name for name, limit in limits.items() if spent[name] >= limit)
        return next((f"budget.{name}" for name in reached), None)

    def _bytes_of(self, first: int, last: int, given_up: Event) -> int:
        while self._ledger.latest() < last and not given_up.wait(POLL_SECONDS):
            continue
        batches = self._ledger.batches(first, min(last, self._ledger.latest()))
        return sum(file.size or 0 for batch in batches for file in batch.inputs)
