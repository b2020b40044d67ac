"""Whether a source falls behind: more arrives than is processed, over several runs.

What waits at the starts of the last runs and now is compared. A backlog that grows is not enough:
arrivals grow in the morning too. It is falling behind if, besides, the runs left some of what was
there when they began, or had no pause between them. A backlog that shrinks, however large, is one
that is being caught up with, such as that of a first run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from tidemill.contract.errors import Refused
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.base import Rating

RUNS = 3
# The share of the time between two starts that a run may take.
BUSY = 0.9
HOUR = 3600


class FallingBehind(Refused):
    """More arrives than is processed; carries `source`, `lag` and both rates per second."""


@dataclass(frozen=True)
class Moment:
    """A source when a run started, or now.

    Args:
        lag: What waited there, in the source's own measure, such as records or bytes.
        processed: What was processed until then, counted from any fixed moment.
        left: The part of what waited that the run that started then did not take in.
        ended: When that run's last batch was committed; None where it committed none.
    """

    at: datetime
    lag: int
    processed: int
    left: int = 0
    ended: datetime | None = None


@dataclass(frozen=True)
class Pace:
    """Rates over the last few runs, in the source's measure per second."""

    lag: int
    arriving: float
    processed: float


def pace_behind(starts: Sequence[Moment], now: Moment) -> Pace | None:
    """The pace of a source that falls behind; None for any other, or while too few runs say so.

    Args:
        starts: The starts of the last `RUNS` runs, in order.
    """
    if len(starts) < RUNS:
        return None
    moments = [*starts[-RUNS:], now]
    if not all(_lost_ground(one, later) for one, later in pairwise(moments)):
        return None
    first = moments[0]
    seconds = (now.at - first.at).total_seconds() or 1.0
    processed = now.processed - first.processed
    return Pace(
        lag=now.lag,
        arriving=(now.lag - first.lag + processed) / seconds,
        processed=processed / seconds,
    )


def falling_behind(
    source: str, rating: Rating, pace: Pace | None, amount: Callable[[float], str]
) -> Problem | None:
    """The problem of a source that falls behind; None for any other.

    Args:
        rating: As the spec rates it.
        amount: An amount of the source's measure in words.
    """
    if pace is None or rating is Rating.IGNORE:
        return None
    held = f" Set sources.{source}.falling_behind: warn, so that runs can catch up."
    return Problem(
        rating,
        FallingBehind(
            f"sources.{source} falls behind: {amount(HOUR * pace.arriving)} arrive per hour, "
            f"{amount(HOUR * pace.processed)} are processed, {amount(pace.lag)} wait (over the "
            f"last {RUNS} runs).",
            remedy="Run it more often, give it more cores (spark.conf, minPartitions), or raise "
            "the budget or what a batch may take (maxOffsetsPerTrigger, maxFilesPerTrigger, "
            "maxBytesPerTrigger)." + (held if rating is Rating.HOLD else ""),
            source=source,
            lag=pace.lag,
            arriving=pace.arriving,
            processed=pace.processed,
        ),
    )


def _lost_ground(start: Moment, later: Moment) -> bool:
    """Whether the backlog grew, though the run that began at `start` had no time to spare."""
    if later.lag <= start.lag:
        return False
    ended = start.at if start.ended is None else start.ended
    busy: timedelta = min(ended, later.at) - start.at
    return start.left > 0 or busy >= BUSY * (later.at - start.at)
