"""What the joins of the matrix give out for a feed of three files, computed in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

Row = dict[str, Any]


class Event(NamedTuple):
    """A row of the feed.

    Args:
        at: Minutes since midnight.
        n: 1 for the left side of a join, 2 for the right one, 3 for both.
    """

    id: str
    at: int
    n: int


def _events(*texts: str) -> list[Event]:
    split = (text.split() for text in texts)
    return [Event(name, minutes(time), int(n)) for name, time, n in split]


def minutes(time: str) -> int:
    hour, minute = time.split(":")
    return int(hour) * 60 + int(minute)


def clock(at: int) -> str:
    return f"{at // 60:02d}:{at % 60:02d}"


def window(at: int, length: int) -> str:
    start = at - at % length
    return f"{clock(start)}-{clock(start + length)}"


# Each file is a batch. The latest time of both sides in the first is 12:40. That makes a
# watermark of 12:30, which ends state in the second batch, and makes late what comes in the third.
FEED = (
    _events(
        "a 12:00 1", "a 12:00 1", "b 12:10 1", "b 12:13 1", "a 12:31 2", "c 12:35 2", "d 12:40 3"
    ),
    _events("a 12:20 1", "a 13:10 2", "z 20:00 3"),
    _events("a 12:05 1"),
)
EVENTS = [event for file in FEED for event in file]
STATIC = ("a", "e")


LATE = FEED[2]


# -- joins -----------------------------------------------------------------------------------------

LEFT = [event for event in EVENTS if event.n & 1]
RIGHT = [event for event in EVENTS if event.n & 2]
BOTH = ("left", "right")
# The sides whose rows leave the state when the watermark has passed, by bound and by the side that
# has one: a range compares the times of both sides, a window is a key that both have.
CLEARED: dict[tuple[str, str], tuple[str, ...]] = {
    ("range", "both"): BOTH,
    ("window", "left"): BOTH,
    ("window", "right"): BOTH,
    ("window", "both"): BOTH,
}


@dataclass(frozen=True)
class StreamJoin:
    """A join of the left and the right part of the feed.

    Args:
        bound: `none`, `range` (the right row within an hour after the left one) or `window`.
        watermark: The side that has one: `none`, `left`, `right` or `both`.
    """

    how: str
    bound: str = "range"
    watermark: str = "both"
    left: tuple[Event, ...] = tuple(LEFT)
    right: tuple[Event, ...] = tuple(RIGHT)

    def __post_init__(self) -> None:
        if self.bound != "window":
            # A late row is not joined where its side has a watermark; its window is still open.
            for side in ("left", "right"):
                if self.watermark in (side, "both"):
                    kept = [event for event in getattr(self, side) if event not in LATE]
                    object.__setattr__(self, side, tuple(kept))

    @property
    def cleared(self) -> tuple[str, ...]:
        return CLEARED.get((self.bound, self.watermark), ())

    def meet(self, left: Event, right: Event) -> bool:
        near = {
            "none": True,
            "range": left.at <= right.at <= left.at + 60,
            "window": window(left.at, 60) == window(right.at, 60),
        }
        return left.id == right.id and near[self.bound]

    def pairs(self) -> list[tuple[Event | None, Event | None]]:
        """Pairs, and rows without a match where their side is ever given up."""
        met = [pair for pair in product(self.left, self.right) if self.meet(*pair)]
        found: list[tuple[Event | None, Event | None]] = list(met)
        if self.how == "left_semi":
            lefts = [left for left in self.left if any(self.meet(left, one) for one in self.right)]
            return [(left, None) for left in lefts]
        if self.how in ("left_outer", "full_outer") and "left" in self.cleared:
            found += [(left, None) for left in self.left if left not in {pair[0] for pair in met}]
        if self.how in ("right_outer", "full_outer") and "right" in self.cleared:
            found += [(None, right) for right in self.right if right not in {p[1] for p in met}]
        return found

    def rows(self) -> list[Row]:
        """What comes out."""

        def time(at: int) -> str:
            return window(at, 60) if self.bound == "window" else clock(at)

        names = ("w", "v") if self.bound == "window" else ("at", "then")
        return [
            {
                **({"id": left.id, names[0]: time(left.at)} if left else {}),
                **({"other": right.id, names[1]: time(right.at)} if right else {}),
            }
            for left, right in self.pairs()
        ]

    def state(self) -> tuple[int, int]:
        """Rows in state before the watermark passes all but one event, and afterwards."""
        left, right = list(self.left), list(self.right)
        if self.how == "left_semi":
            # What has met is given out, and not waited for.
            left = [one for one in left if not any(self.meet(one, other) for other in right)]
        kept = [
            event
            for side, events in (("left", left), ("right", right))
            for event in events
            if side not in self.cleared or event.id == "z"
        ]
        return len([event for event in left + right if event not in LATE]), len(kept)


def static_join(left: str, right: str, how: str) -> list[Row]:
    """A join of one part of the feed with the static table, or of that table with itself."""
    if left == right == "static":
        ids = () if how == "left_anti" else STATIC
        return [{"id": one.id} for one in EVENTS if one.id in ids]
    events = LEFT if left == "stream" else RIGHT
    streamed = ("id", "at") if left == "stream" else ("other", "then")
    table = "other" if left == "stream" else "id"
    rows = []
    for event in events:
        row, met = dict(zip(streamed, (event.id, clock(event.at)), strict=True)), event.id in STATIC
        if how == "left_semi" or how == "left_anti":
            rows += [row] * (met == (how == "left_semi"))
        elif met or how != "inner":
            rows.append({**row, **({table: event.id} if met else {})})
    return rows
