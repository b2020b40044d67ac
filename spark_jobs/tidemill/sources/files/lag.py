"""The backlog of a file source at the starts of its runs, by the times of its files.

A file waited from its time of modification until a batch took it in. A file that was moved, or
copied with its time, so counts for every start since that time: the backlog then looks less like
one that grows, never more.
"""

from collections.abc import Sequence
from datetime import datetime
from math import inf

from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.ledger.batch import Batch, Start
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.past_batches import since_start
from tidemill.sources.falling_behind import RUNS, Moment, Pace, pace_behind
from tidemill.sources.files.listing import Found


def falls_behind(
    layout: Layout, source: str, batches: Sequence[Batch], new: Sequence[Found], now: datetime
) -> Pace | None:
    """The pace, in bytes, of a source that falls behind; None for any other.

    Args:
        batches: All of the generation.
        new: The files that wait.
    """
    if not batches or not new:
        return None
    starts = Ledger(layout, batches[-1].generation).starts()[-RUNS:]
    if not starts:
        return None
    recent = since_start(batches, starts[0].epoch)
    moments = [_moment(start, layout, source, recent, new) for start in starts]
    waiting = sum(file.size for file in new)
    return pace_behind(moments, Moment(now, waiting, processed=_bytes(source, recent)))


def _moment(
    start: Start, layout: Layout, source: str, batches: Sequence[Batch], new: Sequence[Found]
) -> Moment:
    at_ms = start.at.timestamp() * 1000
    before = [batch for batch in batches if batch.start < start.epoch]
    own = [batch for batch in batches if batch.start == start.epoch]
    later = [batch for batch in batches if batch.start > start.epoch]
    left = sum(file.size for file in new if file.modified_ms <= at_ms)
    left += _bytes(source, later, at_ms)
    return Moment(
        at=start.at,
        lag=left + _bytes(source, own, at_ms),
        processed=_bytes(source, before),
        # A run that no budget ended took in all that was there; what is as old came later.
        left=left if _ran_out_of_budget(layout, start) else 0,
        ended=max((batch.committed for batch in own), default=None),
    )


def _bytes(source: str, batches: Sequence[Batch], until_ms: float = inf) -> int:
    """The bytes of the files that batches read, of those that are not younger than `until_ms`."""
    return sum(
        file.size or 0
        for batch in batches
        for file in batch.inputs
        if file.source == source and file.modified_ms <= until_ms
    )


def _ran_out_of_budget(layout: Layout, start: Start) -> bool:
    report = reports.read(layout.run(start.run_id), "ingest")
    stopped = None if report is None else report.facts.get("stopped")
    return str(stopped).startswith("budget.")
