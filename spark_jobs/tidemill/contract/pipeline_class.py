"""How a pipeline's rows depend on its batches: what a backfill needs to compute them again."""

from enum import StrEnum


class PipelineClass(StrEnum):
    """Read from the analysed plan when a generation is born, and kept in its note.

    Attributes:
        MAP: Row by row; also joined with static tables. Batches are independent of each other.
        WINDOW: Aggregates that can be merged, in windows, and inner joins within bounds: one batch
            job gives the same rows, cut to what is final at the watermark.
        ORDERED: Deduplication, outer and semi joins, sessions, state of one's own: the rows depend
            on the order of the batches, which a recomputation has to repeat.
        UNBOUNDED: Running totals and joins that nothing ever closes; to change what they counted
            long ago everything has to be counted again.
    """

    MAP = "map"
    WINDOW = "window"
    ORDERED = "ordered"
    UNBOUNDED = "unbounded"
