"""The status of a pipeline: batches, increments, table, and who is writing.

Read from files only, so that the command line and Airflow's pages say the same without a JVM.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import get_args

from tidemill.contract import report as reports
from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome, Report, Step
from tidemill.file_formats.delta import Head, read_head
from tidemill.generations.build import newest_builds
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.late_rows import LateLog
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.orphans import Orphans
from tidemill.storage.lease import current_holder


class LastRun(FrozenModel):
    """The step that reported last."""

    run_id: str
    step: Step
    outcome: Outcome
    reason: str
    finished: datetime


class Writer(FrozenModel):
    """Who holds the lease.

    Attributes:
        gone: Its process is provably dead; the next step takes over.
    """

    step: str
    run_id: str
    host: str
    pid: int
    since: datetime
    gone: bool


class PipelineStatus(FrozenModel):
    """A pipeline as of now.

    Attributes:
        building: Those that somebody began to build, and that are not live yet.
        pipeline_class: How its rows depend on its batches; None before its first start.
        batches: Committed, and in the ledger.
        unsealed: Those of them that no increment holds yet.
        table: None until something is published.
        late: Rows that came after the watermark had passed them, which no table holds.
        orphans: Files in the sink that no log names; None where the sink was not listed.
        lagging: Target -> increments that went out and that it has still to apply.
        writer: None where the lease is free.
    """

    pipeline: str
    generation: str
    building: tuple[str, ...] = ()
    pipeline_class: PipelineClass | None
    batches: int
    unsealed: int
    increments: tuple[IncrementStatus, ...]
    table: Head | None
    rejected: Head | None
    late: int = 0
    orphans: Orphans | None = None
    lagging: dict[str, int]
    last_run: LastRun | None
    writer: Writer | None

    @property
    def unpublished(self) -> tuple[IncrementStatus, ...]:
        """The increments that still have to go out or to be skipped."""
        return tuple(i for i in self.increments if i.version is None and i.state != "superseded")

    @property
    def held(self) -> tuple[IncrementStatus, ...]:
        return tuple(i for i in self.increments if i.state == "held")


def read_status(layout: Layout, targets: Sequence[str] = ()) -> PipelineStatus:
    """The status of a pipeline; one that never ran has no batches.

    Args:
        targets: Their names, as the spec has them.

    Raises:
        TornDocument: one of our documents is damaged.
    """
    snapshot = Snapshot(layout)
    generation = snapshot.generation
    latest = Ledger(layout, generation).latest()
    note = read_note(layout, generation)
    sealed = snapshot.last_sealed(generation)
    return PipelineStatus(
        pipeline=layout.name,
        generation=generation,
        building=tuple(one.generation for one in newest_builds(layout)),
        pipeline_class=None if note is None else note.pipeline_class,
        batches=latest + 1,
        unsealed=latest - sealed,
        increments=read_increments(snapshot),
        table=read_head(layout.table),
        rejected=read_head(layout.rejected),
        late=LateLog(layout, generation).total(),
        lagging={name: lag for name in targets if (lag := len(snapshot.journal.behind(name)))},
        last_run=_last_run(layout.runs),
        writer=_writer(layout),
    )


def _last_run(runs: Path) -> LastRun | None:
    # A report is put in place by a rename, which touches the folder of its run.
    folders = os.scandir(runs) if runs.is_dir() else ()
    for folder in sorted((one for one in folders if one.is_dir()), key=_modified, reverse=True):
        # A decision at a shell has a folder of its own, and no step that reports.
        found = [reports.read(Path(folder), step) for step in get_args(Step)]
        last = max((r for r in found if r is not None), key=lambda r: r.finished, default=None)
        if last is not None:
            return _as_last_run(last)
    return None


def _as_last_run(last: Report) -> LastRun:
    return LastRun(
        run_id=last.run_id,
        step=last.step,
        outcome=last.outcome,
        reason=last.reason,
        finished=last.finished,
    )


def _modified(entry: os.DirEntry[str]) -> int:
    return entry.stat().st_mtime_ns


def _writer(layout: Layout) -> Writer | None:
    holder = current_holder(layout.lease)
    if holder is None:
        return None
    return Writer(
        step=holder.step,
        run_id=holder.run_id,
        host=holder.process.host,
        pid=holder.process.pid,
        since=holder.since,
        gone=holder.process.gone,
    )
