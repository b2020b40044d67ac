"""Whether a source falls behind: more arrives than is processed, over several runs.

Each ingest writes down how far the topic went and how far it had read when it started. A lag that
grows is not enough: arrivals grow in the morning too. It is falling behind if, besides, the runs
left some of what was there when they began, or had no pause between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch
from tidemill.spark_logs.offset_ranges import between, records_in
from tidemill.spec.sources.kafka import Offsets
from tidemill.storage import documents

RUNS = 3
# The share of the time between two starts that a run may take.
BUSY = 0.9


class FallingBehind(Refused):
    """More arrives than is processed; carries `source`, `lag` and both rates per second."""


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


@dataclass(frozen=True)
class Pace:
    """Rates over the last few runs, in records per second."""

    lag: int
    arriving: float
    processed: float


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
    """The pace of a source that falls behind; None for any other, or while too few runs say so.

    Args:
        past: What the last `RUNS` starts saw, in order.
        now: What there is now.
    """
    if len(past) < RUNS:
        return None
    moments = [*past[-RUNS:], now]
    if not all(_lost_ground(one, other, batches) for one, other in pairwise(moments)):
        return None
    seconds = (now.at - moments[0].at).total_seconds() or 1.0
    return Pace(
        lag=now.lag,
        arriving=records_in(between(moments[0].ends, now.ends)) / seconds,
        processed=records_in(between(moments[0].position, now.position)) / seconds,
    )


def _lost_ground(start: Arrivals, later: Arrivals, batches: Sequence[Batch]) -> bool:
    """Whether the lag grew, though the run that began at `start` had no time or means to spare."""
    if later.lag <= start.lag:
        return False
    left = records_in(between(later.position, start.ends))
    ended = max((b.committed for b in batches if b.start == start.epoch), default=start.at)
    busy: timedelta = min(ended, later.at) - start.at
    return left > 0 or busy >= BUSY * (later.at - start.at)


def behind(source: str, pace: Pace) -> FallingBehind:
    """The error, or warning, that says so."""
    return FallingBehind(
        f"sources.{source} falls behind: {pace.arriving:,.1f} records arrive per second, "
        f"{pace.processed:,.1f} are processed, {pace.lag:,} wait (over {RUNS} runs).",
        remedy="Run it more often, give it more cores (spark.conf, minPartitions), or raise "
        "maxOffsetsPerTrigger or the budget.",
        source=source,
        lag=pace.lag,
        arriving=pace.arriving,
        processed=pace.processed,
    )
