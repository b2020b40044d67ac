"""Vacuum: removes files that no log, head, journal event, open increment or later run names."""

from datetime import timedelta

from tidemill.increments.snapshot import Snapshot
from tidemill.steps.upkeep.data_files import orphans, replaced
from tidemill.steps.upkeep.leftover import Leftover, remove
from tidemill.steps.upkeep.old_checkpoints import ended_checkpoints, old_snapshots
from tidemill.steps.upkeep.old_documents import (
    drafts,
    ended_queries,
    half_forks,
    old_epochs,
    old_notices,
    removals_begun,
)
from tidemill.steps.upkeep.runs import finished_runs
from tidemill.steps.upkeep.scratch import scratch_generations
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.run_context import RunContext

# Epochs and notices are numbers, of which the newest count; people look at the newest runs.
KEPT = 200
# The next vacuum comes soon enough; a long ingest is not waited for.
PATIENCE_SECONDS = 5.0


def plan_vacuum(run: RunContext, kept: int = KEPT) -> list[Leftover]:
    """What a vacuum would remove now; nothing is changed.

    Args:
        kept: How many of the newest runs, epochs and notices stay, however old.

    Raises:
        Refused: a log or a document is damaged, so that it does not tell what it names.
    """
    layout, retention = run.layout, run.pipeline.spec.retention
    if not layout.home.is_dir():
        return []
    snapshot = Snapshot(layout)
    leftovers, runs = _ago(run, retention.leftovers), _ago(run, retention.runs)
    since = retention.replaced
    return [
        *removals_begun(layout),
        *orphans(snapshot, leftovers),
        *scratch_generations(snapshot, leftovers),
        *ended_checkpoints(snapshot, _ago(run, retention.checkpoints)),
        *old_snapshots(layout, _ago(run, retention.snapshots)),
        *(replaced(layout, since) if since is not None else ()),
        *finished_runs(snapshot, runs, kept),
        *old_epochs(layout, kept),
        *old_notices(layout, kept),
        *ended_queries(layout, leftovers),
        *drafts(layout, leftovers),
        *half_forks(layout),
    ]


def vacuum(run: RunContext, kept: int = KEPT) -> list[Leftover]:
    """Remove what a plan made under the lease names.

    One that was killed is continued by the next: each removal is one rename or unlink, and none
    depends on another.

    Args:
        kept: As of `plan_vacuum`.

    Returns:
        What was removed.

    Raises:
        Refused: as `plan_vacuum`; nothing was removed.
        LeaseHeld: another process writes to the pipeline.
        LeaseLost: another process took over; what was removed until then stays removed.
    """
    removed = []
    with run.hold("vacuum", patience=PATIENCE_SECONDS) as held:
        for one in plan_vacuum(held, kept):
            held.lease.check()
            with disk_errors(one.path):
                if remove(held.layout, one):
                    removed.append(one)
    return removed


def _ago(run: RunContext, age: timedelta) -> float:
    """Before when a file was modified that is older than this, in seconds since 1970."""
    return (run.clock() - age).timestamp()
