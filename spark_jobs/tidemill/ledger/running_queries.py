"""The running queries: one document each, replaced after each batch.

A streaming process opens no port. It writes where it stands into `streams/<run id>.json`, and ends
when `streams/<run id>.stop` appears. Whether it still lives is told by its process, never by the
document, which a killed process leaves behind. It only informs: one that a power cut tore is passed
over, and the next run takes it away.
"""

from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidemill.contract.counted import counted
from tidemill.contract.document import Document
from tidemill.contract.layout import PIPELINE_NAME, Layout
from tidemill.storage import documents
from tidemill.storage.processes import ProcessId


class RunningQuery(Document):
    """A query as its process last wrote it down.

    Attributes:
        query_id: Spark's, which stays with the checkpoint.
        query_run_id: Spark's, of this start.
        since: When it was started.
        last_batch: The last that is in the ledger, -1 for none.
        batches: Written by this start.
        rows: The rows of these batches, without rejected ones.
        rows_per_second: Read in the last batch; None where Spark reports none (continuous).
        status: Spark's own: message, isDataAvailable, isTriggerActive.
        last_progress: Spark's last report.
        plan: The extended plan of the last batch, once there was one.
        done: The share, from 0 to 1, of what waited at the start that is read; None where it cannot
            be counted.
        seconds_left: Until all of it is read, at the pace so far; None before the first batch.
        tasks: The tasks of the batch at work that are done, and all of them.
        written: When this was written.
    """

    pipeline: str
    run_id: str
    query_id: str
    query_run_id: str
    process: ProcessId
    since: datetime
    trigger: str
    last_batch: int = -1
    batches: int = 0
    rows: int = 0
    rows_per_second: float | None = None
    status: dict[str, Any] = {}
    last_progress: dict[str, Any] | None = None
    plan: str | None = None
    done: float | None = None
    seconds_left: float | None = None
    tasks: tuple[int, int] | None = None
    written: datetime

    @property
    def how_far(self) -> str:
        """Where it stands, in a few words for a log or a screen."""
        parts = [f"{counted(self.batches, 'batch', 'batches')} written"]
        if self.done is not None:
            parts.append(f"{self.done:.0%} of what waited is read")
        if self.rows_per_second is not None:
            parts.append(f"{self.rows_per_second:,.0f} rows/s")
        if self.seconds_left:
            parts.append(f"about {_in_words(self.seconds_left)} left")
        if self.tasks is not None:
            parts.append(f"batch at work: {self.tasks[0]} of {self.tasks[1]} tasks")
        return ", ".join(parts)


def _in_words(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Running:
    """The place of one run's query among those that run."""

    def __init__(self, layout: Layout, run_id: str) -> None:
        name = quote(run_id, safe="+:")
        self.document = layout.streams / f"{name}.json"
        self.stop = layout.streams / f"{name}.stop"

    def write(self, query: RunningQuery) -> None:
        """Put the document in place whole, over the one before."""
        documents.replace(self.document, query)

    def ask_to_stop(self) -> None:
        self.stop.touch()

    @property
    def asked_to_stop(self) -> bool:
        return self.stop.is_file()

    def clear(self) -> None:
        """The query has ended, or is about to begin."""
        self.document.unlink(missing_ok=True)
        self.stop.unlink(missing_ok=True)


def running(layout: Layout) -> list[RunningQuery]:
    """The living queries of a pipeline; a step holds the lease meanwhile, so mostly one at most."""
    found = []
    if layout.streams.is_dir():
        for path in sorted(layout.streams.glob("[!.]*.json")):
            query = documents.read_if_whole(path, RunningQuery)
            if query is not None and not query.process.gone:
                found.append(query)
    return found


def running_anywhere(root: Path) -> list[RunningQuery]:
    """The living queries of all pipelines under a root."""
    names = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    pipelines = [name for name in names if PIPELINE_NAME.fullmatch(name)]
    return [query for name in pipelines for query in running(Layout(root, name))]


def clear_dead(layout: Layout) -> None:
    """Forget queries whose process was killed; under the lease, so that none begins meanwhile."""
    alive = {Running(layout, query.run_id).document for query in running(layout)}
    if layout.streams.is_dir():
        for path in layout.streams.glob("[!.]*.json"):
            if path not in alive:
                path.unlink(missing_ok=True)
                path.with_suffix(".stop").unlink(missing_ok=True)
