"""Backfill: recomputes whole partitions from all published input, to be swapped in at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError
from tidemill.contract.report import Outcome
from tidemill.increments.increment import State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.interval_partitions import interval_partitions
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import BatchRange, Recomputation
from tidemill.ledger.generation_note import hash_of_file
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.computed_before import (
    nothing_belongs_to,
    published_before,
    sealed_before,
)
from tidemill.steps.decisions.recomputed import (
    describe,
    leased,
    note,
    seal_recomputed,
    verify_published,
)
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidemill.engine.recompute.dry_run import DryRun
    from tidemill.engine.recompute.intervals import Extent
    from tidemill.engine.recompute.recompute import Recomputed


class IntervalMissing(UsageError):
    """A backfill without an interval, or with one that ends before it begins."""


class PartitionUnknown(UsageError):
    """A partition is named by another column than the table has; carries `column`, `known`."""


def backfill(run: RunContext, request: RunRequest, *, lost_race: bool = False) -> Ended:
    """Compute an interval's partitions again as of the last published batch, and seal them.

    Args:
        request: The interval, who asked and why; whether it is a dry run.
        lease: The caller's lease, which blocks other publishers; None where live runs continue.
        lost_race: Whether it was computed before, and lost the race.

    Returns:
        `done` with what was computed, or that it is there already: the same partitions by the same
        code, with nothing published in them since. `skipped` where no row belongs to them.

    Raises:
        Refused: it is not possible, or not now; the remedy says what is.
    """
    pipeline = run.pipeline
    verify_interval(pipeline, request)
    own = read_run_increment(pipeline.layout.run(run.run_id))
    if own is not None and not lost_race and not _is_held_of_other_code(pipeline, own):
        return Ended(Outcome.DONE, f"computed already: increment {own:06d}", {"increment": own})
    from tidemill.engine.recompute.recompute import OutsidePrefix
    from tidemill.engine.recompute.requested_partitions import resolve_partitions
    from tidemill.engine.session import open_session

    session = open_session(pipeline, "backfill")
    extent = resolve_partitions(session, pipeline, request)
    # One snapshot: what is published after its last event is not part of the recomputation.
    snapshot = Snapshot(pipeline.layout)
    recomputation = _recomputation(pipeline, request, snapshot, extent.partitions)
    try:
        if request.dry_run:
            from tidemill.engine.recompute.dry_run import dry_run

            return _described(dry_run(session, run, recomputation, extent))
        return _computed(session, run, snapshot, recomputation, extent)
    except OutsidePrefix as error:
        return Ended(Outcome.SKIPPED, f"{error.what} {error.remedy}")


def nothing_to_compute(pipeline: Pipeline, request: RunRequest, snapshot: Snapshot) -> str | None:
    """The reason why a backfill would change nothing, as far as that can be told without Spark.

    A dry run of what was computed before is worth its time: it says so in numbers.
    """
    if request.start is None or request.end is None:
        return None
    partitions = interval_partitions(pipeline.spec, request.start, request.end)
    if partitions is None:
        return None
    recomputation = _recomputation(pipeline, request, snapshot, partitions)
    there = None if request.dry_run else published_before(snapshot, recomputation)
    if there is not None:
        return (
            f"{partitions}: increment {there:06d} has computed that from the same published input "
            "by the same code and spec"
        )
    if nothing_belongs_to(pipeline, snapshot, recomputation):
        return f"nothing of {partitions} was ever published, and no row that was read belongs there"
    return None


def _recomputation(
    pipeline: Pipeline, request: RunRequest, snapshot: Snapshot, partitions: Partitions
) -> Recomputation:
    last = verify_published(snapshot, snapshot.generation)
    return describe(
        pipeline,
        request,
        "backfill",
        BatchRange(generation=snapshot.generation, first=0, last=last),
        snapshot.last_seq,
        partitions=partitions,
    )


def _computed(
    session: SparkSession,
    run: RunContext,
    snapshot: Snapshot,
    recomputation: Recomputation,
    extent: Extent,
) -> Ended:
    """Compute and seal the partitions, unless an increment holds them already."""
    from tidemill.engine.recompute.recompute import recompute

    there = published_before(snapshot, recomputation) or sealed_before(snapshot, recomputation)
    if there is not None:
        note(run, there)
        reason = f"{extent.partitions}: increment {there:06d} holds just that"
        return Ended(Outcome.DONE, reason, {"increment": there, "coalesced": True})
    found = recompute(session, run, recomputation, extent)
    with leased(run, "backfill") as held:
        number = seal_recomputed(held, found)
    return _ended(number, found, extent)


def _is_held_of_other_code(pipeline: Pipeline, own: int) -> bool:
    """Whether the gate holds a backfill that was computed by other code than today's."""
    found = Snapshot(pipeline.layout).get(own)
    recomputation = found.sealed.recomputation
    return (
        found.state is State.HELD
        and recomputation is not None
        and recomputation.code_hash != hash_of_file(pipeline.transform_file)
    )


def verify_interval(pipeline: Pipeline, request: RunRequest) -> None:
    """Prove that a request says what is to be computed again.

    Raises:
        IntervalMissing: it has no interval, and names no partitions either.
        PartitionUnknown: it names a column that does not partition the table.
    """
    start, end = request.start, request.end
    if request.partitions:
        _refuse_unknown(pipeline, request)
    if request.partitions or request.rejected:
        return
    if start is None or end is None or start >= end:
        raise IntervalMissing(
            f"A backfill of {pipeline.name} needs an interval, and this one is from "
            f"{start or 'nowhere'} to {end or 'nowhere'}.",
            remedy=f"Give both: tidemill backfill {pipeline.name} --from 2026-03-01 "
            "--to 2026-03-08; the end is not part of it. Partitions other than times are named: "
            f"tidemill backfill {pipeline.name} --partition year=2012.",
            start=start,
            end=end,
        )


def _refuse_unknown(pipeline: Pipeline, request: RunRequest) -> None:
    known = pipeline.spec.output.partition_by
    first = request.partitions[0]
    for one in request.partitions:
        other = next((name for name in one if name not in known), None)
        if other is not None or one.keys() != first.keys():
            what = f"names '{other}'" if other else "names other columns than the first"
            raise PartitionUnknown(
                f"A partition of {pipeline.name} to be computed again {what}.",
                remedy=f"It is partitioned by {', '.join(known) or 'nothing'} "
                "(output.partition_by); give each partition the same columns of these.",
                column=other,
                known=[*known],
            )


def _described(found: DryRun) -> Ended:
    partitions = found.extent.partitions
    reason = (
        f"{partitions}: {counted(found.rows, 'row')} from {found.inputs:,} inputs; "
        f"{found.added:,} would be added, {found.removed:,} removed, {found.changed:,} changed"
    )
    return Ended(Outcome.DONE, reason, {"dry_run": _facts_of(found.extent, found) | _of(found)})


def _of(found: DryRun) -> dict[str, Any]:
    return {"added": found.added, "removed": found.removed, "changed": found.changed}


def _ended(number: int, found: Recomputed, extent: Extent) -> Ended:
    reason = (
        f"{extent.partitions}: {counted(found.rows, 'row')}, {found.rejected:,} rejected, from "
        f"{found.inputs:,} inputs, as increment {number:06d}"
    )
    return Ended(Outcome.DONE, reason, {"increment": number, **_facts_of(extent, found)})


def _facts_of(extent: Extent, found: Recomputed | DryRun) -> dict[str, Any]:
    return {
        "columns": list(extent.partitions.columns),
        "partitions": [list(value) for value in extent.partitions.values],
        "inputs": found.inputs,
        "input_bytes": found.input_bytes,
        "input_rows": found.input_rows,
        "skipped": found.skipped,
        "rows": found.rows,
        "rejected": found.rejected,
    }
