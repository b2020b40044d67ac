"""Decides which partitions are final, so that a batch job computes what the stream would.

A window is final when the watermark has reached its end (Structured Streaming guide, "Handling Late
Data and Watermarking"). A batch job computes all windows; windows that the stream has not emitted
yet may still change and are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame

from tidemill.contract.errors import Refused
from tidemill.engine.recompute.intervals import Extent
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes
from tidemill.spec.pipeline import Pipeline

# How `window` looks once it is analysed (`TimeWindowResolution`): the start of the last window is
# `at - (at - offset) % slide`, its end is that plus the length.
_STEP = re.compile(r"- (-?\d+)\) % (\d+)\)")
_LENGTH = re.compile(r"- 0\) \+ (\d+)\), LongType, Timestamp")
_WINDOW = "named_struct(start, knownnullable(precisetimestampconversion("


class NotFinal(Refused):
    """Rows of some partitions may still change.

    Carries `watermark`, that of the last batch, and `final_at`, the one from which they are final;
    None where they never are.
    """


class WindowsUnknown(Refused):
    """A plan has windows of unknown length; carries `expression`."""


@dataclass(frozen=True)
class Windows:
    """Windows in microseconds since the epoch.

    Args:
        slide: From the start of one to that of the next.
    """

    length: int
    slide: int
    offset: int

    def end_of_last(self, until: int) -> int:
        """The end of the last window that begins before a time."""
        return (until - 1 - self.offset) // self.slide * self.slide + self.offset + self.length


def windows_of(transformed: DataFrame) -> list[Windows]:
    """The windows of a transform's result, from the source on.

    Raises:
        WindowsUnknown: Spark prints them otherwise than the version that this was written for.
    """
    windows = []
    for node in nodes(analysed(transformed)):
        for expression in _columns(node):
            if not expression.startswith(_WINDOW):
                continue
            length, step = _LENGTH.search(expression), _STEP.search(expression)
            if length is None or step is None:
                raise WindowsUnknown(
                    f"The length of these windows is unknown: {expression[:200]}",
                    remedy="Report it with your version of Spark.",
                    expression=expression,
                )
            windows.append(Windows(int(length[1]), int(step[2]), int(step[1])))
    return windows[::-1]


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


def _columns(node: Any) -> Iterator[str]:
    """The computed columns of a plan's node, as Spark prints them."""
    columns: list[Any] = []
    if kind(node) == "Project":
        columns = [
            expression for expression in items(node.projectList()) if kind(expression) == "Alias"
        ]
    elif kind(node) == "Expand":
        # Overlapping windows have a projection each; all have the same length.
        columns = items(node.projections().apply(0))
    yield from (str(column.toString()) for column in columns)
