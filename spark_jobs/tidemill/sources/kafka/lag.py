"""The lag of a Kafka source at the starts of its runs: how far its topics went, and the reading."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.ledger.past_batches import since_start
from tidemill.sources.falling_behind import RUNS, Moment, Pace, pace_behind
from tidemill.spark_logs.offset_ranges import between, records_in
from tidemill.spec.sources.kafka import Offsets
from tidemill.storage import documents


class Arrivals(Document):
    """A source's lag at one moment.

    Attributes:
        ends: The offsets after the topics' last records.
        position: The offsets after what was read.
        epoch: The epoch of the start that saw it; None for a mere look.
    """

    at: datetime
    ends: Offsets
    position: Offsets
    epoch: int | None = None

    @property
    def lag(self) -> int:
        return records_in(between(self.position, self.ends))


def record_arrivals(layout: Layout, generation: str, source: str, seen: Arrivals) -> None:
    """Write down what a start saw; under the lease."""
    folder = layout.ledger(generation) / "arrivals" / source
    documents.put_if_absent(folder / f"{seen.epoch:06d}.json", seen)


def last_arrivals(layout: Layout, generation: str, source: str) -> list[Arrivals]:
    """The lag at the last few starts, in order."""
    files = [*documents.numbered(layout.ledger(generation) / "arrivals" / source)][-RUNS:]
    found = (documents.read_if_whole(path, Arrivals) for _, path in files)
    return [seen for seen in found if seen is not None]


def falls_behind(past: Sequence[Arrivals], now: Arrivals, batches: Sequence[Batch]) -> Pace | None:
    """The pace, in records, of a source that falls behind; None for any other.

    Args:
        past: What the last starts saw, in order.
        now: What there is now.
    """
    looks = [*past, now]
    epochs = [look.epoch for look in looks if look.epoch is not None]
    recent = since_start(batches, min(epochs)) if epochs else []
    moments = [
        Moment(
            at=look.at,
            lag=look.lag,
            processed=records_in(between(looks[0].position, look.position)),
            left=records_in(between(later.position, look.ends)),
            ended=max((b.committed for b in recent if b.start == look.epoch), default=None),
        )
        for look, later in pairwise([*looks, now])
    ]
    return pace_behind(moments[:-1], moments[-1])
