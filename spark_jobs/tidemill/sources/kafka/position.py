"""The offsets at which a Kafka source continues, from Spark's checkpoint and our ledger."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.sink_reader import read_committed
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import as_offsets
from tidemill.spec.sources.kafka import Offsets


@dataclass(frozen=True)
class Position:
    """The offsets after what was read.

    Args:
        offsets: Topic -> partition -> offset.
        batch: The batch they come from; None where a first query noted where it begins, and has
            read nothing yet.
    """

    offsets: Offsets
    batch: int | None


def position_of(
    layout: Layout, generation: str, source: str, batches: Sequence[Batch]
) -> Position | None:
    """The position at which a source continues; None before its first batch is planned."""
    checkpoint = read_checkpoint(layout.checkpoint(generation))
    log = read_committed(read_note(layout, generation), layout.sink(generation))
    # A batch that the sink holds is never read again, even if its commit is still missing.
    written = -1 if log.latest is None else log.latest
    known = batches[-1].batch if batches else -1
    last = max(known, written, max(checkpoint.commits, default=-1))
    found = None
    if last in checkpoint.offsets:
        found = checkpoint.offsets[last].sources.get(source)
    elif last == known and batches:
        found = batches[-1].offsets.get(source)
    if found:
        return Position(as_offsets(found), last)
    file = initial_offsets_file(layout, generation, source)
    noted = read_initial_offsets(file)
    return None if noted is None else Position(noted, None)
