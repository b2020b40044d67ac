"""Decides which partitions are final, so that a batch job computes what the stream would.

A window is final when the watermark has reached its end (Structured Streaming guide, "Handling Late
Data and Watermarking"). A batch job computes all windows; windows that the stream has not emitted
yet may still change and are left out.
"""

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame

from tidemill.contract.errors import Refused
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.spark_internals.plan import analysed, kind, nodes
from tidemill.ledger.windows import Windows
from tidemill.spec.pipeline import Pipeline


class NotFinal(Refused):
    """Rows of some partitions may still change.

    Carries `watermark`, that of the last batch, and `final_at`, the one from which they are final;
    None where they never are.
    """


def times_of_rows(extent: Extent, windows: list[Windows]) -> tuple[datetime, datetime] | None:
    """The event times of the rows that go into some partitions; None for all times."""
    if extent.start is None or extent.end is None:
        return None
    if not extent.of_windows:
        return extent.start, extent.end
    # A partition may be made of its windows' starts or ends.
    longest = max((window.length for window in windows), default=0)
    return extent.start - timedelta(microseconds=longest), _end(extent.end, windows)


def refuse_not_final(
    pipeline: Pipeline, extent: Extent, windows: list[Windows], watermark_ms: int
) -> None:
    """Refuse partitions whose rows may still change.

    Args:
        pipeline: For the delay of its watermarks.
        watermark_ms: The watermark of the last batch that counts, in milliseconds since the epoch.

    Raises:
        NotFinal: a window of theirs ends after that.
    """
    watermark = datetime.fromtimestamp(watermark_ms / 1000, UTC)
    if extent.end is None:
        raise NotFinal(
            f"{extent.partitions} is of all times, and what is yet to come belongs to it.",
            remedy=f"Rebuild it: tidemill rebuild {pipeline.name} --reason TEXT.",
            watermark=watermark,
            final_at=None,
        )
    # By the clock on the wall, where event times have no zone: so does Spark's watermark.
    final_at = _end(extent.wall[1] if extent.wall else extent.end, windows)
    if final_at <= watermark:
        return
    times = (pipeline.spec.event_time_of(name) for name in pipeline.spec.sources)
    delay = max((t.watermark for t in times if t and t.watermark), default=timedelta(0))
    raise NotFinal(
        f"{extent.partitions} of {pipeline.name} is not final: rows of it may come until the "
        f"watermark is at {final_at:%Y-%m-%d %H:%M} UTC, and it is at {watermark:%Y-%m-%d %H:%M}.",
        remedy=f"Wait until rows of {final_at + delay:%Y-%m-%d %H:%M} UTC or later are published, "
        "or choose an interval that ends earlier. All of it can be computed now: "
        f"tidemill rebuild {pipeline.name} --reason TEXT.",
        watermark=watermark,
        final_at=final_at,
        rows_of=final_at + delay,
    )


def joins_streams(transformed: DataFrame) -> bool:
    """Whether two streams are joined with each other."""
    return any(
        kind(node) == "Join" and node.left().isStreaming() and node.right().isStreaming()
        for node in nodes(analysed(transformed))
    )


def _end(until: datetime, windows: list[Windows]) -> datetime:
    """The end of the last window that a row before a given time can be in."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    end = (until - epoch) // timedelta(microseconds=1)
    for window in windows:
        end = max(end, window.end_of_last(end))
    return epoch + timedelta(microseconds=end)
