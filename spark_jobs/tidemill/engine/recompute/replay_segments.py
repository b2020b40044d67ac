"""Divides the ledger's batches into segments, each replayed by one start of the query.

Within a start Spark keeps more than its checkpoint holds: the latest event time of each of several
watermarks. It forgets them at the next start, and a policy `min` then waits for every source again.
So a replay starts where live started, wherever that makes a difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemill.engine.recompute.published_input import Read, reads_of, with_batch_times
from tidemill.increments.exclusions import Excluded
from tidemill.ledger.batch import Batch
from tidemill.ledger.flushes import Flush, read_flush
from tidemill.spec.pipeline import Pipeline

# The most batches laid out at a time, for one start of the query.
MOST_BATCHES = 100
MOST_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Step:
    """One batch that is gone through again.

    Args:
        read: What of its input counts.
        flush: That it carried out, if it did.
    """

    read: Read
    flush: Flush | None

    @property
    def batch(self) -> Batch:
        """The batch as the live query committed it."""
        return self.read.batch

    @property
    def number(self) -> int:
        return self.read.batch.batch

    @property
    def size(self) -> int:
        """Bytes of the files that it read."""
        return sum(file.size or 0 for file in self.read.files)


def steps_of(pipeline: Pipeline, generation: str, last: int, without: Excluded) -> list[Step]:
    """Every batch of a generation up to one, those included that a fork has of another.

    Args:
        generation: The generation that the batches belong to.
        last: The last one.
        without: The input that does not count.

    Raises:
        LedgerGap: one of them is missing.
    """
    layout = pipeline.layout
    reads = with_batch_times(reads_of(layout, generation, 0, last, without), pipeline.spec)
    return [
        Step(read, read_flush(layout, read.batch.generation, read.batch.batch)) for read in reads
    ]


def segments(steps: Sequence[Step], *, by_start: bool) -> Iterator[list[Step]]:
    """The steps in order, those together that one start of the query goes through.

    The last stands alone: what is final by then is so by the watermark that live had.

    Args:
        by_start: Whether a start of live's is one here too.
    """
    segment: list[Step] = []
    for step in steps:
        full = len(segment) == MOST_BATCHES or sum(one.size for one in segment) > MOST_BYTES
        if segment and (full or step is steps[-1] or _begins(step, segment[-1].batch, by_start)):
            yield segment
            segment = []
        segment.append(step)
    if segment:
        yield segment


def _begins(step: Step, before: Batch, by_start: bool) -> bool:
    """Whether a step needs a start of its own, which may set its watermark or its static inputs."""
    batch = step.batch
    if step.flush is not None or batch.static != before.static:
        return True
    if by_start and (batch.generation, batch.start) != (before.generation, before.start):
        return True
    # A batch that only the sink knew when its driver died was committed by the next one without
    # being computed again, so that it may have moved no watermark.
    return before.rows_in is None
