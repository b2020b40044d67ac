"""The plot of a measure over increments, as rectangles of an inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemill.reporting.measures import Measured

# A short history leaves room at the right.
SLOTS = 20


@dataclass(frozen=True)
class Column:
    """A column of the plot; what was not measured has the height 0.

    Args:
        label: What it says to whoever points at it.
        good: Whether the rule was met.
    """

    x: float
    y: float
    width: float
    height: float
    label: str
    good: bool


def chart(history: Sequence[Measured], width: float, height: float) -> list[Column]:
    """The columns of a measure, the greatest as high as the plot; a value below 0 has none."""
    step = width / max(len(history), SLOTS)
    greatest = max((one.value or 0 for one in history), default=0) or 1
    found = []
    for place, one in enumerate(history):
        tall = max(0.0, height * (one.value or 0) / greatest)
        value = "not measured" if one.value is None else f"{one.value:,.6g}"
        broken = ", the rule is broken" if one.good is False else ""
        found.append(
            Column(
                x=round(place * step, 2),
                y=round(height - tall, 2),
                width=round(step * 0.8, 2),
                height=round(tall, 2),
                label=f"increment {one.increment:06d}: {value}{broken}",
                good=one.good is not False,
            )
        )
    return found
