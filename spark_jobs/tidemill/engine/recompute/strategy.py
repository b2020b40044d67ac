"""Chooses how rows are recomputed: a batch job, a replay of the stream, or not at all."""

from collections.abc import Sequence

from tidemill.contract.errors import Refused
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.planned_query import Plan
from tidemill.engine.query.windows import windows_of
from tidemill.engine.recompute.finality import joins_streams, refuse_not_final
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.recompute.published_input import Read
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline


class Unbounded(Refused):
    """Nothing but a rebuild computes such a pipeline's rows again; carries `pipeline_class`."""


class KeepsState(Refused):
    """Batches of a pipeline with state cannot be computed again alone; carries `pipeline`."""


def can_recompute_in_batch(
    pipeline: Pipeline, planned: Plan, reads: Sequence[Read], extent: Extent | None
) -> bool:
    """Whether one batch job gives the same rows as the stream; else it has to be replayed.

    Args:
        reads: What batches read.
        extent: The extent of the partitions; None for all rows of these batches.

    Raises:
        Unbounded: a rebuild is the only way.
        KeepsState: batches cannot be computed without those before them.
        NotFinal: not yet.
    """
    pipeline_class = planned.pipeline_class
    if pipeline_class is PipelineClass.MAP:
        return True
    if (
        pipeline_class is PipelineClass.UNBOUNDED
        or pipeline.spec.output.mode is OutputMode.COMPLETE
    ):
        raise Unbounded(
            f"{pipeline.name} counts what nothing ever closes: its rows cannot be computed again "
            "for a part of the table.",
            remedy=f"Compute all of it again: tidemill rebuild {pipeline.name} --reason TEXT.",
            pipeline=pipeline.name,
            pipeline_class=str(pipeline_class),
        )
    if extent is None:
        raise KeepsState(
            f"{pipeline.name} keeps state between batches, so that some of them cannot be computed "
            "again alone.",
            remedy="Go on from the last published batch, with a fork: "
            f"tidemill redo {pipeline.name} --reason TEXT.",
            pipeline=pipeline.name,
        )
    pins = {tuple(sorted((n, p.identity) for n, p in r.batch.static.items())) for r in reads}
    if pipeline_class is PipelineClass.ORDERED or joins_streams(planned.rows) or len(pins) > 1:
        return False
    if extent.partitions.everything:
        # Windows of it are open at any time; a replay gives out those that are closed.
        return False
    windows = windows_of(planned.rows)
    # What only the next batch gives out is not the backfill's: it would be there twice.
    refuse_not_final(pipeline, extent, windows, reads[-1].batch.watermark_before_ms)
    return True
