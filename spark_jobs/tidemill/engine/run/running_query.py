"""Records a running query, so that other processes can list, watch or stop it."""

import time
from collections.abc import Sequence
from typing import Any, Self

from pyspark.sql import SparkSession
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
# Between two lines in the task log about how far it is.
LINE_SECONDS = 60.0


class Register:
    """A query's document, for as long as the context lasts.

    Args:
        last_batch: In the ledger when it started.
    """

    def __init__(
        self,
        session: SparkSession,
        query: StreamingQuery,
        run: RunContext,
        trigger: StreamTrigger,
        last_batch: int,
    ) -> None:
        self._session = session
        self._query = query
        self._log = run.log
        self._place = Running(run.layout, run.run_id)
        self._clock = run.clock
        self._due = 0.0
        self._line_due = time.monotonic() + LINE_SECONDS
        # Spark plans the batch once more to print it. A query that ends at once is not asked.
        self._plan_due = time.monotonic() + BEAT_SECONDS
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
        elapsed = (self._clock() - known.since).total_seconds()
        changes: dict[str, Any] = {
            "batches": known.batches + len(fresh),
            "rows": known.rows + sum(batch.rows for batch in fresh),
            "status": self._query.status,
            "last_progress": self._last_progress(),
            "done": progress.remaining.done,
            "seconds_left": progress.remaining.seconds_left(elapsed),
            "tasks": self._tasks(),
        }
        if fresh:
            changes["last_batch"] = fresh[-1].batch
            changes["rows_per_second"] = progress.speed(fresh[-1].batch)
        if known.batches and known.plan is None and time.monotonic() >= self._plan_due:
            changes["plan"] = explained(self._query)
        self._document = known.model_copy(update=changes)
        self._write()
        if time.monotonic() >= self._line_due:
            self._log(self._document.how_far)
            self._line_due = time.monotonic() + LINE_SECONDS

    def _tasks(self) -> tuple[int, int] | None:
        """The tasks of its jobs at work that are done, and all of them; None between two jobs."""
        tracker = self._session.sparkContext.statusTracker()
        own = set(tracker.getJobIdsForGroup(str(self._query.runId)))
        jobs = [tracker.getJobInfo(job) for job in own & set(tracker.getActiveJobsIds())]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        known = [stage for stage in stages if stage is not None]
        if not known:
            return None
        return sum(one.numCompletedTasks for one in known), sum(one.numTasks for one in known)

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
