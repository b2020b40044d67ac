"""Where pipelines stand: the same for `tidemill status` and for Airflow's pages.

A status document that is up to date is the only file that is opened for a pipeline. Whether it is
up to date is told by the lease: every writer takes an epoch, and the document names the last one
that it knows.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from tidemill.contract import report as reports
from tidemill.contract.clock import wall_clock
from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import TidemillError
from tidemill.contract.layout import Layout
from tidemill.contract.project import is_left_out
from tidemill.contract.report import Report, Step
from tidemill.increments.snapshot import Snapshot
from tidemill.reporting.derive_status import about_spec, with_history, with_report
from tidemill.reporting.status_document import (
    About,
    PipelineState,
    StatusDocument,
    decisions,
    rejected_share,
    state_of,
    waiting_in_words,
)
from tidemill.spec.catalog import SpecFile, spec_files
from tidemill.spec.each import is_template
from tidemill.spec.effective import name_of, stamp_of
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.root import root
from tidemill.storage import documents
from tidemill.storage.folders import entries, touched
from tidemill.storage.lease import current_holder, settled_epoch


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


class PipelineStanding(StatusDocument):
    """A pipeline as of now: its status document, its state and who writes to it.

    Attributes:
        template: The template that makes it one of several, by `each`; None for any other.
        writer: None where the lease is free.
        waiting: What a run would take in or go on with, in words; empty where nothing waits.
        rows_of_days: The rows of each of the last `DAYS` days, oldest first, today last.
        rejected_share: The share of rejected rows in those days; None where there were no rows.
        decisions: What a person has to decide or to repair, a sentence each.
    """

    state: PipelineState
    template: str | None = None
    writer: Writer | None = None
    waiting: str = ""
    rows_of_days: tuple[int, ...] = ()
    rejected_share: float | None = None
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class HistoryRead:
    """The history as a step has read it.

    Args:
        epoch: The newest epoch whose writes it holds.
    """

    snapshot: Snapshot
    epoch: int


def listed_pipelines(environ: Mapping[str, str] = os.environ) -> Iterator[SpecFile]:
    """The specs of all pipelines; of the examples of a clone, beside projects, those that ran.

    Raises:
        UsageError: `TIDEMILL_ROOT` is not set, or two folders hold a pipeline of the same name.
    """
    home = root(environ)
    for one in spec_files(environ):
        if not is_left_out(one.project, environ) or (home / one.name).is_dir():
            yield one


def read_standing(root: Path, spec: SpecFile, now: datetime | None = None) -> PipelineStanding:
    """A pipeline as of now; damage is said in it, and never raised.

    Args:
        root: `TIDEMILL_ROOT`.
        spec: The file that holds it.
        now: The time to judge by; the clock's where not given.
    """
    now = now or wall_clock()
    layout = Layout(root, spec.name)
    found = documents.read_if_whole(layout.status, StatusDocument)
    problem: dict[str, Any] | None = None
    modified = _modified(spec)
    if found is None or not _knows_spec(found, modified):
        about, problem = _about(spec, modified)
        if found is None:
            found = _empty(layout, about, now)
        elif problem is None:
            found = _with(found, about=about)
    writer = None
    if layout.home.is_dir() and not _is_current(layout, found):
        try:
            writer = read_writer(layout)
            if writer is None or writer.gone or found.epoch < 0:
                found = _derived(layout, found, now, keep=problem is None)
        except TidemillError as error:
            problem = error.as_dict()
    found = found if problem is None else _with(found, error=problem)
    state = state_of(found, running=writer is not None and not writer.gone, now=now)
    days = found.rows_per_day(now.date())
    return PipelineStanding(
        **dict(found),
        state=state,
        template=name_of(spec.path) if is_template(spec.path) else None,
        writer=writer,
        waiting=waiting_in_words(found, now),
        rows_of_days=tuple(one.rows for one in days),
        rejected_share=rejected_share(days),
        decisions=tuple(decisions(found, state)),
    )


def read_about(root: Path, spec: SpecFile) -> About:
    """What a pipeline's spec says, by its status document where that is up to date."""
    found = documents.read_if_whole(Layout(root, spec.name).status, StatusDocument)
    modified = _modified(spec)
    if found is not None and _knows_spec(found, modified):
        return found.about
    return _about(spec, modified)[0]


def by_attention(standings: Iterable[PipelineStanding]) -> list[PipelineStanding]:
    """Pipelines in the order in which they need a person's attention, then by name."""
    order = get_args(PipelineState)
    return sorted(standings, key=lambda one: (order.index(one.state), one.pipeline))


def keep_up(pipeline: Pipeline, report: Report, read: HistoryRead | None = None) -> None:
    """Write the status document at the end of a step.

    Args:
        read: The history, where the step has read it as it left it.
    """
    layout = pipeline.layout
    if not layout.home.is_dir():
        return
    about = about_spec(pipeline.name, pipeline.spec, pipeline.spec_file)
    found = documents.read_if_whole(layout.status, StatusDocument)
    current = found is not None and _is_current(layout, found)
    found = _empty(layout, about, report.finished) if found is None else found
    found = _with(found, about=about, written=report.finished, error=None)
    if read is not None and not current:
        found = with_history(found, read.snapshot, read.epoch)
    documents.replace(layout.status, with_report(found, report))


def read_writer(layout: Layout) -> Writer | None:
    """Who holds a pipeline's lease; None where it is free."""
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


def last_reports(runs: Path) -> Iterator[Report]:
    """The reports of runs, the newest run first, of each run the last report first."""
    # A report is put in place by a rename, which touches the folder of its run.
    folders = (one for one in entries(runs) if one.is_dir)
    for folder in sorted(folders, key=touched, reverse=True):
        # A decision at a shell has a folder of its own, and no step that reports.
        found = [reports.read(folder.path, step) for step in get_args(Step)]
        there = (report for report in found if report is not None)
        yield from sorted(there, key=lambda report: report.finished, reverse=True)


def _is_current(layout: Layout, status: StatusDocument) -> bool:
    """Whether no process has taken the lease since the document was written."""
    if status.epoch < 0 or documents.exists(layout.lease, status.epoch + 1):
        return False
    # Upkeep may have removed both, as so many runs have come since.
    return status.epoch == 0 or documents.exists(layout.lease, status.epoch)


def _derived(
    layout: Layout, status: StatusDocument, now: datetime, *, keep: bool
) -> StatusDocument:
    """The document computed again.

    Args:
        keep: Whether it is written, where this process may: not with a spec that does not load.
    """
    epoch = settled_epoch(layout.lease)
    found = with_history(status, Snapshot(layout), epoch)
    for report in reversed(list(_last_run(layout.runs))):
        found = with_report(found, report)
    found = _with(found, written=now)
    if keep:
        # The API server may be another user, who may read only.
        with suppress(OSError, TidemillError):
            documents.replace(layout.status, found)
    return found


def _last_run(runs: Path) -> Iterator[Report]:
    """The reports of the run that reported last, the last one first."""
    first: Report | None = None
    for report in last_reports(runs):
        first = first or report
        if report.run_id != first.run_id:
            return
        yield report


def _empty(layout: Layout, about: About, now: datetime) -> StatusDocument:
    return StatusDocument(pipeline=layout.name, about=about, written=now)


def _with(status: StatusDocument, **fields: Any) -> StatusDocument:
    return status.model_copy(update=fields)


def _knows_spec(found: StatusDocument, modified: int) -> bool:
    """Whether a document says what the spec says, and not what an earlier one said."""
    return found.about.spec_time == modified and found.about.tables_read is not None


def _modified(spec: SpecFile) -> int:
    try:
        return stamp_of(spec.path)
    except TidemillError:
        return 0


@lru_cache(maxsize=4096)
def _about(spec: SpecFile, _modified: int) -> tuple[About, dict[str, Any] | None]:
    """What the spec says; and the error, where it does not load."""
    try:
        return about_spec(spec.name, spec.load(), spec.path), None
    except TidemillError as error:
        return About(dag_id=spec.name), error.as_dict()
