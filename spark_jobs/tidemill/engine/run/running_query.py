"""Records a running query, so that other processes can list, watch or stop it."""

import time
from collections.abc import Sequence
from typing import Any, Self

from pyspark.sql.streaming import StreamingQuery

from tidemill.engine.query.planned_query import SAMPLE
from tidemill.engine.run.progress import Progress
from tidemill.engine.spark_internals.query_state import explained, last_progress
from tidemill.ledger.batch import Batch
from tidemill.ledger.running_queries import Running, RunningQuery
from tidemill.spec.stream_trigger import StreamTrigger
from tidemill.storage.processes import this_process
from tidemill.storage.run_context import RunContext

# Without new batches, so that its status is not older than this.
BEAT_SECONDS = 2.0


class Register:
    """A query's document, for as long as the context lasts.

    Args:
        last_batch: In the ledger when it started.
    """

    def __init__(
        self, query: StreamingQuery, run: RunContext, trigger: StreamTrigger, last_batch: int
    ) -> None:
        self._query = query
        self._place = Running(run.layout, run.run_id)
        self._clock = run.clock
        self._due = 0.0
        now = run.clock()
        self._document = RunningQuery(
            pipeline=run.pipeline.name,
            run_id=run.run_id,
            query_id=str(query.id),
            query_run_id=str(query.runId),
            process=this_process(),
            since=now,
            trigger=str(trigger),
            last_batch=last_batch,
            written=now,
        )

    def __enter__(self) -> Self:
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self._place.clear()

    @property
    def asked_to_stop(self) -> bool:
        return self._place.asked_to_stop

    def look(self, fresh: Sequence[Batch], progress: Progress) -> None:
        """Write down where the query stands, if that is new or some time ago."""
        if not fresh and time.monotonic() < self._due:
            return
        known = self._document
        changes: dict[str, Any] = {
            "batches": known.batches + len(fresh),
            "rows": known.rows + sum(batch.rows for batch in fresh),
            "status": self._query.status,
            "last_progress": self._last_progress(),
        }
        if fresh:
            changes["last_batch"] = fresh[-1].batch
            changes["rows_per_second"] = progress.speed(fresh[-1].batch)
        if known.batches + len(fresh) and known.plan is None:
            changes["plan"] = explained(self._query)
        self._document = known.model_copy(update=changes)
        self._write()

    def _last_progress(self) -> dict[str, Any] | None:
        progress = last_progress(self._query)
        if progress is None:
            return None
        # Rows that are shown on a screen are not kept in a file.
        progress.get("observedMetrics", {}).pop(SAMPLE, None)
        return progress

    def _write(self) -> None:
        self._document = self._document.model_copy(update={"written": self._clock()})
        self._place.write(self._document)
        self._due = time.monotonic() + BEAT_SECONDS
