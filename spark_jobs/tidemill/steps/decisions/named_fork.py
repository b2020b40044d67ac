"""Fork under another name: a new pipeline goes on from a published batch of another one.

It begins with the state and offsets of that batch and an empty table, and reads the source from
there, so that new code can be tried on yesterday's state. The original is only read, under its
lease. The new folder comes to its place when it is whole; spec, transform and suite come after it,
the spec last: without it no run begins, and without the folder a run would read everything again.
"""

from tidemill.contract.clock import wall_clock
from tidemill.contract.layout import Layout
from tidemill.contract.os_user import os_user
from tidemill.generations.checkpoint_snapshot import places_to_fork_from
from tidemill.generations.fork import build_fork, from_the_first
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, next_generation, put_takeover
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.named_fork_place import empty_draft, move_in
from tidemill.steps.decisions.named_fork_plan import NamedForkPlan, plan_named_fork
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.folders import copy_folder, remove_folder
from tidemill.storage.lease import newest_epoch, release
from tidemill.storage.run_context import RunContext
from tidemill.storage.sync import make_folder, put_whole, sync

# Copies of what batches were joined with or decoded by, and what was erased for good.
COPIED = ("static", "schemas", "erasures")


def named_fork(
    run: RunContext, other: str, at: str | None = None, *, by: str, reason: str
) -> NamedForkPlan:
    """Fork a pipeline under another name, or go on with what was interrupted.

    Args:
        other: The name of the fork.
        at: As in `plan_named_fork`.

    Raises:
        LeaseHeld: a step is writing to the original.
        ForkPointGone: Spark has forgotten the batch, and no snapshot has it.
        Refused: as `plan_named_fork`.
    """
    pipeline = run.pipeline
    with run.hold("checkpoint fork", patience=PATIENCE_SECONDS):
        plan = plan_named_fork(pipeline, other, at)
        if not plan.built:
            with disk_errors(plan.new.home):
                draft = plan.draft or _build(pipeline, plan, by, reason)
                move_in(draft, plan.new, run.run_id)
    for path, text in plan.files.items():
        make_folder(path.parent)
        put_whole(path, text)
    return plan


def _build(pipeline: Pipeline, plan: NamedForkPlan, by: str, reason: str) -> Layout:
    """Build a fork beside its place; the folders of the whole draft."""
    layout = pipeline.layout
    draft = empty_draft(layout, plan.new)
    generation, history = open_generation(pipeline), Snapshot(layout)
    name = next_generation(layout)

    def build(source: Generation) -> None:
        # A place that lacks something left it.
        remove_folder(draft.home, missing_ok=True)
        build_fork(pipeline, source, name, plan.first, same_code=True, draft=draft, bound=plan.new)

    from_the_first(places_to_fork_from(generation, plan.first - 1), build)
    copies = []
    # A start in the ledger is named by its epoch, so that the fork's epochs go on from there.
    for folder in (layout.lease, *(layout.home / part for part in COPIED)):
        copies += copy_folder(folder, draft.home / folder.relative_to(layout.home))
    if epoch := newest_epoch(draft.lease):
        # Its holder writes to the original.
        release(draft.lease, epoch)
    takeover = Takeover(
        generation=name,
        kind="fork",
        pipeline=pipeline.name,
        predecessor=generation.name,
        first=plan.first,
        excludes=tuple(sorted(excluded(history).files, key=lambda one: (one.source, one.path))),
        by=by,
        os_user=os_user(),
        reason=reason,
        born=wall_clock(),
    )
    sync(copies, draft.home)
    put_takeover(draft, takeover)
    return draft
