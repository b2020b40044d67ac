"""The budget of a run: what it has used of it, looked at after each batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event

from spark_jobs.contract.trigger import Budget
from spark_jobs.ledger.batches import Batch, Ledger
from spark_jobs.ledger.look import Look
from spark_jobs.ledger.metadata_log import batch_files

POLL_SECONDS = 0.05
Looks = Callable[[Sequence[Batch]], list[Look]]


class Spending:
    """What one run took since its query started.

    A run whose budget is used up goes on where nothing is left to read: Spark then runs no batch
    but the one without data that a moved watermark asks for, and that no later run would make up
    for before new data comes.

    Args:
        budget: Of the spec.
        ledger: Of the generation; whoever follows the query writes its batches down.
        looks: What waits at the sources after some batches.
    """

    def __init__(self, budget: Budget, ledger: Ledger, looks: Looks) -> None:
        self._budget = budget
        self._ledger = ledger
        self._looks = looks
        self._began = time.monotonic()
        self._before = self._seen = self._committed()
        self._bytes = 0
        self._rest_is_free = False

    def used_up(self, given_up: Event) -> str | None:
        """The first limit that is reached while something is left to read, None if none is.

        Args:
            given_up: Set when nobody writes the ledger any more, for which the answer may wait.
        """
        committed = self._committed()
        if self._budget.max_bytes is not None and committed > self._seen:
            self._bytes += self._bytes_of(self._seen + 1, committed, given_up)
        self._seen = committed
        limit = None if self._rest_is_free else self._limit()
        if limit is None:
            return None
        self._await_ledger(committed, given_up)
        left = self._looks(self._ledger.batches())
        # What arrives from now on was not there when this run began to take what is available.
        self._rest_is_free = all(look.new == 0 for look in left)
        return None if self._rest_is_free else f"budget.{limit}"

    def _limit(self) -> str | None:
        budget = self._budget
        minutes = (time.monotonic() - self._began) / 60
        spent = {
            "max_batches": (self._seen - self._before, budget.max_batches),
            "max_bytes": (self._bytes, budget.max_bytes),
            "max_minutes": (minutes, budget.max_minutes),
        }
        return next((n for n, (used, most) in spent.items() if most and used >= most), None)

    def _bytes_of(self, first: int, last: int, given_up: Event) -> int:
        self._await_ledger(last, given_up)
        batches = self._ledger.batches(first, min(last, self._ledger.latest()))
        return sum(file.size or 0 for batch in batches for file in batch.inputs)

    def _await_ledger(self, batch: int, given_up: Event) -> None:
        while self._ledger.latest() < batch and not given_up.wait(POLL_SECONDS):
            continue

    def _committed(self) -> int:
        return max(batch_files(self._ledger.checkpoint / "commits"), default=-1)
