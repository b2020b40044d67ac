"""Doctor: decides whether a run may continue and has anything to do. No JVM, about a second.

It writes its report, once the root's identity, and the request of a live run that is to compute
again what is due since a table upstream changed (`steps.decisions.follow`). In this order it looks
at: the root and who may read it (`storage.root_identity`), the tables and lists
(`publish.target_heads`), the lease
(`storage.lease`), a driver that outlived its task, the parts of the generation
(`generations.verify`), the journal, files that are still to be published, changes of the spec
(`compatibility.compare`), every source (`sources.probe`), what there is to do
(`steps.parts.pending_work`), databases and catalogues (`steps.parts.remote_heads`), and whether a
feed is overdue (`steps.parts.overdue`).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidemill.compatibility.compare import refuse_changes
from tidemill.compatibility.source_identity import verify_sources
from tidemill.contract.errors import Refused
from tidemill.contract.file_mode import open_to_others
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.report import Outcome
from tidemill.contract.syntax.quantities import sum_if_known
from tidemill.contract.user_code import clock_or_chance
from tidemill.generations.execution import verify_execution
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.increments.recent_snapshot import read_history
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal
from tidemill.ledger.batch import Batch
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import read_request
from tidemill.publish.target_heads import verify_tables
from tidemill.reporting.standing import HistoryRead
from tidemill.sources.probe import probe_sources
from tidemill.sources.probe_result import ProbeResult, refuse_held
from tidemill.spec.sources.base import Rating
from tidemill.steps.decisions.check_request import asked
from tidemill.steps.decisions.follow import fix_follow, follow_of
from tidemill.steps.decisions.repair_lease import refuse_lease_set_back
from tidemill.steps.parts.idle import idle
from tidemill.steps.parts.overdue import check_overdue, last_arrivals
from tidemill.steps.parts.pending_work import find_work
from tidemill.steps.parts.remote_heads import verify_remote_heads
from tidemill.steps.parts.run import Ended
from tidemill.storage.lease import end_outlived, settled_epoch
from tidemill.storage.root_identity import verify_pipeline, verify_root
from tidemill.storage.run_context import RunContext


class RootUnusable(Refused):
    """`TIDEMILL_ROOT` does not exist or cannot be written to; carries `root`."""


class FilesMissing(Refused):
    """Committed files that are not published yet are gone; carries `missing`."""


def doctor(
    run: RunContext,
    now: datetime | None = None,
    *,
    continuous: bool = False,
    follow: bool = True,
) -> Ended:
    """Look at everything a run depends on.

    Args:
        now: The time to judge `expect` by; the clock's where not given.
        continuous: Whether a continuous query is to follow.
        follow: Whether the run may compute again what is due, in place of taking in more.

    Returns:
        `done` with what there is to do, or `skipped` with the reason.

    Raises:
        Refused: going on would lose rows in silence.
        FeedOverdue: the feed stopped arriving.
    """
    pipeline, layout = run.pipeline, run.pipeline.layout
    _check_root(run)
    _warn_of_readers(run)
    _end_outlived(run)
    request = read_request(layout.run(run.run_id))
    if request.role == "rebuild":
        # What a live generation refuses may be what is rebuilt for.
        refuse_lease_set_back(layout)
        return asked(run, request, None)
    verify_tables(pipeline)
    refuse_lease_set_back(layout)
    generation = open_generation(pipeline)
    if request.role != "live":
        return asked(run, request, generation)
    verify_execution(generation, continuous=continuous)
    epoch = settled_epoch(layout.lease)
    targets = [target.name for target in pipeline.spec.publish]
    snapshot = read_history(layout, targets, read_run_increment(layout.run(run.run_id)))
    batches = generation.ledger.past()
    read = HistoryRead(snapshot, epoch)
    _log_what_is_missing(run, snapshot.journal)
    _check_unpublished_files(generation, batches, _first_unpublished(snapshot, generation.name))
    verify_sources(layout, generation.name, pipeline.spec, batches)
    refuse_changes(pipeline, generation.note)
    if not batches:
        _warn_of_clock_or_chance(run)
    found = probe_sources(pipeline, batches)
    for look in found:
        _rate_problems(run, look)
    work = find_work(
        generation,
        found,
        snapshot,
        _open_own(snapshot, run.run_id),
        targets=targets,
        published=pipeline.spec.published,
    )
    verify_remote_heads(run, due=bool(work))
    now = now or run.clock()
    arrivals = last_arrivals(run, found, batches, now)
    facts = _facts(found, arrivals)
    asked_for = follow_of(found, work, run.clock) if follow else None
    if asked_for is not None:
        ended = asked(run, asked_for, generation)
        if fix_follow(run, asked_for):
            return replace(ended, facts={**facts, **ended.facts}, read=read)
    if work:
        reason = "; ".join(one.reason for one in work)
        facts["work"] = [one.as_dict() for one in work]
        return Ended(Outcome.DONE, reason, facts, read)
    check_overdue(run, arrivals, now)
    return replace(idle(snapshot, facts, ran=bool(batches)), read=read)


def _facts(found: Sequence[ProbeResult], arrivals: Mapping[str, datetime | None]) -> dict[str, Any]:
    return {
        "new": {look.source: look.new for look in found},
        "backlog_bytes": sum_if_known(look.backlog_bytes for look in found),
        "arrived": {name: at and at.isoformat() for name, at in arrivals.items()},
        "sources": {look.source: look.as_dict() for look in found},
    }


def _end_outlived(run: RunContext) -> None:
    outlived = end_outlived(run.pipeline.layout.lease)
    if outlived is not None:
        run.log(f"ended {outlived.step} of run {outlived.run_id}, which outlived its task")


def _check_root(run: RunContext) -> None:
    layout, root = run.pipeline.layout, run.pipeline.layout.root
    # An object store says so itself when it is written to.
    on_disk = not isinstance(root, ObjectPath)
    if on_disk and not (root.is_dir() and os.access(root, os.W_OK | os.X_OK)):
        raise RootUnusable(
            f"TIDEMILL_ROOT '{root}' does not exist or cannot be written to.",
            remedy="Mount its disk, or correct TIDEMILL_ROOT. A new root is made by: tidemill init",
            root=root,
        )
    warning = verify_root(root)
    if warning is not None:
        run.log(f"warning: {warning}")
    verify_pipeline(layout)


def _warn_of_readers(run: RunContext) -> None:
    layout = run.pipeline.layout
    if open_to_others(layout.root, layout.home):
        run.log(
            f"warning: every user of this machine can read {layout.home}, rejected rows and "
            f"samples too; chmod -R o-rwx '{layout.home}' leaves it to owner and group"
        )


def _warn_of_clock_or_chance(run: RunContext) -> None:
    pipeline = run.pipeline
    if not pipeline.spec.published or not pipeline.spec.deterministic:
        return
    for line, name in clock_or_chance(pipeline.transform_file):
        run.log(
            f"warning: {pipeline.transform_file}:{line} names {name}: a row that depends on it is "
            "another one the next time; compute what is published from the row alone"
        )


def _log_what_is_missing(run: RunContext, journal: Journal) -> None:
    missing = journal.missing()
    if missing:
        run.log(
            f"warning: event {missing[0]} of {journal.folder} is gone ({len(missing)} such); "
            "restore it from a backup: put again under a new number, a database refuses it"
        )


def _check_unpublished_files(generation: Generation, batches: Sequence[Batch], first: int) -> None:
    sink = generation.log.sink
    files = [f.path for batch in batches[first:] for f in batch.outputs]
    missing = [path for path in files if not (sink / path).is_file()]
    if missing:
        raise FilesMissing(
            f"{sink / missing[0]} was committed, is not published yet, and is gone "
            f"({len(missing)} of {len(files)} files).",
            remedy="Restore it from a backup; Spark would not write it again.",
            missing=missing,
        )


def _first_unpublished(snapshot: Snapshot, generation: str) -> int:
    """The first batch of a generation of which the sink's own files are still to go out."""
    visible = snapshot.visible
    waiting = [
        one.sealed.first
        for one in snapshot.in_order()
        if one.sealed.generation == generation
        and one.number not in visible
        and one.rejection is None
    ]
    return min(waiting, default=snapshot.last_sealed(generation) + 1)


def _open_own(snapshot: Snapshot, run_id: str) -> int | None:
    """The increment that this run sealed at an earlier try, if no other has replaced it."""
    own = read_run_increment(snapshot.layout.run(run_id))
    if own is None or snapshot.get(own).superseded:
        return None
    return own


def _rate_problems(run: RunContext, look: ProbeResult) -> None:
    """Say what the spec rates `warn`, and raise the first that it rates `hold`."""
    for problem in look.problems:
        if problem.rating is Rating.WARN:
            run.log(f"warning: {problem.error}")
    refuse_held(look.problems)
