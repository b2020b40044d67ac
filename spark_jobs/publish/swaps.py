"""Whether all targets of a pipeline can put rows in the place of others, asked before any does."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.contract import targets as given
from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.publish.python_target import PythonTarget
from spark_jobs.publish.target import SwapUnfit


def unable_to_swap(pipeline: Pipeline) -> Mapping[str, str]:
    """The targets that cannot, and why.

    Args:
        pipeline: Classes that its spec names are imported.

    Raises:
        SpecError: such a class cannot be.
    """
    found = {}
    for target in pipeline.spec.publish:
        why = _why(target, pipeline)
        if why is not None:
            found[target.name] = why
    return found


def refuse_backfill(pipeline: Pipeline) -> None:
    """Refuse what would replace rows, before it starts.

    Raises:
        SwapUnfit: a target cannot, so that it would stand still at that event for ever.
        SpecError: a target's class cannot be imported.
    """
    unable = unable_to_swap(pipeline)
    if unable:
        name, why = next(iter(unable.items()))
        raise SwapUnfit(
            f"{name} cannot put rows in the place of others: {why}.",
            remedy="Mend it, or take it out of `publish`; nothing was computed or published.",
            targets=tuple(unable),
        )


def _why(target: given.Target, pipeline: Pipeline) -> str | None:
    match target:
        case given.PythonTarget():
            if not PythonTarget(target, pipeline, 0, lambda _: None).swaps:
                return f"{target.target} does not declare `swaps = True`"
        case given.FilesTarget():
            output = pipeline.spec.output
            if output.mode is not OutputMode.APPEND and output.partition_by:
                return f"files of output mode {output.mode} hold rows of several partitions"
    return None
