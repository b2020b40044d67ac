"""The targets of a spec, opened: none of them is reached before it has something to apply."""

from __future__ import annotations

from spark_jobs.contract import targets as given
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.publish.delta_target import DeltaTarget
from spark_jobs.publish.target import Target


def targets_of(pipeline: Pipeline, epoch: int) -> list[Target]:
    """A pipeline's targets, the head target first.

    Args:
        pipeline: The pipeline.
        epoch: Of the lease that its caller holds.
    """
    return [_open(target, pipeline, epoch) for target in pipeline.spec.publish]


def _open(target: given.Target, pipeline: Pipeline, epoch: int) -> Target:
    match target:
        case given.DeltaTarget():
            return DeltaTarget(pipeline.layout, epoch)
        case _:
            raise NotImplementedError(target.kind)
