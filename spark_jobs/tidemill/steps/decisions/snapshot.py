"""Snapshot: keeps the checkpoint and the sink's log of a pipeline as they are, to go back to."""

from dataclasses import dataclass

from tidemill.contract.errors import UsageError
from tidemill.generations.checkpoint_snapshot import (
    CheckpointSnapshot,
    snapshot_files,
    take_snapshot,
)
from tidemill.generations.verify import open_generation
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.storage.run_context import RunContext


class NothingToKeep(UsageError):
    """A pipeline has committed no batch that a snapshot could hold; carries `pipeline`."""


@dataclass(frozen=True)
class SnapshotPlan:
    """What a snapshot would hold.

    Args:
        batch: The last committed batch.
    """

    generation: str
    batch: int
    files: int
    bytes: int


def plan_snapshot(pipeline: Pipeline) -> SnapshotPlan:
    """Find out what a snapshot would hold; nothing is changed.

    Raises:
        NothingToKeep: no batch is committed.
        Refused: the parts of the generation do not agree.
    """
    generation = open_generation(pipeline)
    if generation.committed < 0:
        raise NothingToKeep(
            f"{pipeline.name} has committed no batch.",
            remedy=f"Run it first: tidemill run {pipeline.name}.",
            pipeline=pipeline.name,
        )
    files = snapshot_files(pipeline.layout, generation.name)
    size = sum(path.stat().st_size for path in files)
    return SnapshotPlan(generation.name, generation.committed, len(files), size)


def keep_snapshot(run: RunContext, by: str) -> CheckpointSnapshot:
    """Take a snapshot under the lease, once the ledger has every committed batch.

    Raises:
        LeaseHeld: a step is writing to this pipeline.
        Refused: as `plan_snapshot`.
    """
    with run.hold("snapshot", patience=PATIENCE_SECONDS) as held:
        plan_snapshot(run.pipeline)
        generation = open_generation(run.pipeline)
        generation.ledger.complete()
        return take_snapshot(held, generation, by)
