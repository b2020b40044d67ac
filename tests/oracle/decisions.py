"""What people decide, fix and ask for in a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from tests.oracle.history import (
    LIMITS,
    RUN,
    Again,
    Arrive,
    Change,
    Flush,
    Go,
    LetOut,
    at_round,
    ending,
)
from tests.oracle.pipeline_inputs import Kind

Asked = Literal["backfill", "redo", "rebuild", "reject", "reinstate", "rewind"]


@dataclass(frozen=True)
class Edit:
    """The code or a row rule becomes the other one, or what it was before."""

    code: bool = False
    rule: bool = False


@dataclass(frozen=True)
class Ask:
    """A run that a person asks for.

    Args:
        role: What it does; a decision is about the first increment that it can be about.
        start: The start of a backfill's interval, as a minute of the history.
        end: The minute that is not a part of it any more.
        dry: Whether a backfill only says what would come of it.
        steps: How many of its four steps it comes to now; `Resume` goes on with it.
        strict: Whether its gate first expects what nothing holds.
        crash: Whether it is first killed when the journal has it, and no target.
        back: By how many published increments a rewind goes back.
    """

    role: Asked
    start: int = 0
    end: int = 60
    dry: bool = False
    steps: int = 4
    strict: bool = False
    crash: bool = False
    back: int = 1


@dataclass(frozen=True)
class Resume:
    """All runs that were left alone go on."""


@dataclass(frozen=True)
class Clear:
    """A task that ran is run again, of whatever run: by its place among all of them."""

    which: int


# A run that is to be asked for, the likeliest first.
OF_PARTS: tuple[Asked, ...] = (
    *("backfill", "redo", "backfill", "rewind"),
    *("rebuild", "reject", "reinstate"),
)
OF_ALL: tuple[Asked, ...] = ("redo", "rewind", "rebuild", "backfill", "reject")
HOUR = 60


@st.composite
def wishful(
    draw: st.DrawFn, kind: Kind, asked: tuple[Asked, ...], rounds: int = 4
) -> tuple[Any, ...]:
    """Histories of some runs, between which people fix, decide and ask.

    Args:
        draw: Hypothesis's.
        kind: What they are made of.
        asked: What people ask for.
        rounds: The rounds of arrivals.
    """
    events = [event for number in range(rounds) for event in round_of(draw, kind, asked, number)]
    last = Ask("rebuild" if draw(st.booleans()) else asked[0], end=HOUR * (1 + kind.step // HOUR))
    # What is left alone is ended, and what is held let out; then everything can be cleared.
    end = (Resume(), LetOut(everything=True), Go(), LetOut(everything=True), last)
    cleared = draw(st.lists(st.builds(Clear, st.integers(0, 60)), min_size=2, max_size=3))
    return (*events, *ending(draw, kind), *end, *cleared, LetOut(everything=True), Go())


def round_of(draw: st.DrawFn, kind: Kind, asked: tuple[Asked, ...], number: int) -> list[Any]:
    """What arrives, is run, fixed, asked for and decided, from one arrival to the next."""
    events: list[Any] = []
    for source in draw(st.lists(st.sampled_from(kind.sources), min_size=1, max_size=3)):
        rows = draw(st.lists(kind.rows(source), min_size=1, max_size=5))
        events.append(Arrive(source, at_round(kind, rows, number)))
    if kind.changes is not None and draw(st.booleans()):
        events.append(Change(*draw(kind.changes)))
    if draw(st.booleans()):
        events.append(draw(LIMITS))
    events.append(draw(RUN))
    if draw(st.booleans()):
        events.append(Edit(code=draw(st.booleans()), rule=draw(st.booleans())))
    latest = (kind.step * number + kind.span) // HOUR
    events.append(draw(_asks(asked, latest)))
    events += draw(st.lists(st.sampled_from(BETWEEN), max_size=2))
    if kind.late is not None and draw(st.integers(0, 5)) == 5:
        events.append(Flush(draw(st.integers(0, kind.span)) + kind.step * number))
    return events


BETWEEN = (Resume(), LetOut(), Again(), Clear(5), Clear(9))


@st.composite
def _asks(draw: st.DrawFn, asked: tuple[Asked, ...], latest: int) -> Ask:
    first = draw(st.integers(0, latest))
    return Ask(
        draw(st.sampled_from(asked)),
        start=HOUR * first,
        end=HOUR * (first + draw(st.integers(1, 2))) - draw(st.sampled_from((0, 1))),
        dry=draw(st.integers(0, 7)) == 7,
        steps=draw(st.sampled_from((4, 4, 2, 3))),
        strict=draw(st.integers(0, 3)) == 3,
        crash=draw(st.integers(0, 3)) == 3,
        back=draw(st.integers(1, 3)),
    )
