"""Histories of a pipeline: what arrives and changes, what runs, is killed, held and let out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st

from tests.oracle.pipeline_inputs import Kind, Minute, said

RUNS = 5
# A run of two batches writes about so many.
ENTRIES = 16


class Kill(StrEnum):
    """At which point of its last batch a driver was killed: what is there and what is not.

    Attributes:
        LEDGER: Committed, and not yet in our ledger.
        COMMIT: Its rows are in the sink, and Spark has not committed it.
        SINK: Planned; its files are there, and the sink does not know them.
    """

    LEDGER = "ledger"
    COMMIT = "commit"
    SINK = "sink"


@dataclass(frozen=True)
class Arrive:
    """Rows arrive, in one file where the source has files; none make an empty one."""

    source: str
    rows: tuple[Any, ...]


@dataclass(frozen=True)
class Again:
    """What arrived last arrives once more, under another name."""


@dataclass(frozen=True)
class Change:
    """A file of a static input is replaced."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Flush:
    """A person raises the watermark, to a minute of the history."""

    minute: int


@dataclass(frozen=True)
class Limit:
    """The spec gets another limit of batches, past which a publish ends with a rollover.

    Args:
        batches: The limit; None for none.
    """

    batches: int | None


@dataclass(frozen=True)
class Go:
    """A run of all steps.

    Args:
        kill: Where its driver is killed.
        retried: Whether the run is then tried again; what it left is else the next one's.
        again: Whether gate and publish are cleared and run once more.
        strict: Whether the gate expects what no increment holds.
    """

    kill: Kill | None = None
    retried: bool = True
    again: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Die:
    """A run in a process of its own, which is killed with all its children.

    Args:
        after: How many entries of logs, ledger, increments, journal and tables it gets to write.
    """

    after: int


@dataclass(frozen=True)
class LetOut:
    """A person releases the first held increment, or all of them, and publishes them."""

    everything: bool = False


Event = Arrive | Again | Change | Flush | Limit | Go | Die | LetOut
# A rollover with each publish, with some, or none.
LIMITS = st.sampled_from((1, 1, 2, 3, None)).map(Limit)


@st.composite
def histories(
    draw: st.DrawFn,
    kind: Kind,
    more: int = 2,
    kill: Kill | None = None,
    *,
    rollovers: bool = False,
) -> tuple[Event, ...]:
    """Histories of five runs, a kill and, where rows can be late, a late row among them.

    Args:
        draw: Hypothesis's.
        kind: What they are made of.
        more: Runs beyond five, at most.
        kill: Where the last run's driver is killed, if that is not to be drawn.
        rollovers: Whether limits that lead to rollovers are drawn.
    """
    last = ending(draw, kind, kill)
    runs = sum(isinstance(event, Go) for event in last)
    rounds = draw(st.integers(RUNS - runs, RUNS - runs + more))
    events: list[Event] = []
    for number in range(rounds):
        for source in draw(st.lists(st.sampled_from(kind.sources), max_size=2)):
            rows = draw(st.lists(kind.rows(source), max_size=6))
            events.append(Arrive(source, at_round(kind, rows, number)))
        if events and isinstance(events[-1], Arrive) and draw(st.booleans()):
            events.append(Again())
        if kind.changes is not None and draw(st.booleans()):
            events.append(Change(*draw(kind.changes)))
        if rollovers and draw(st.booleans()):
            events.append(draw(LIMITS))
        events.append(draw(RUN))
        if draw(st.booleans()):
            events.append(LetOut())
        if kind.late is not None and draw(st.integers(0, 3)) == 3:
            events.append(Flush(draw(st.integers(0, kind.span)) + kind.step * number))
    return (*events, *last, LetOut(everything=True))


@st.composite
def deaths(draw: st.DrawFn, kind: Kind, often: int) -> tuple[Event, ...]:
    """Histories in which so many processes are killed, the next run going on with what is left."""
    events: list[Event] = [draw(LIMITS)] if often > 1 else []
    for number in range(RUNS - 2):
        for source in draw(st.lists(st.sampled_from(kind.sources), min_size=1, max_size=3)):
            rows = draw(st.lists(kind.rows(source), min_size=1, max_size=6))
            events.append(Arrive(source, at_round(kind, rows, number)))
        events.append(Die(draw(st.integers(1, ENTRIES))) if 0 < number <= often else Go())
    return (*events, *ending(draw, kind), LetOut(everything=True))


# Half of them are as runs should be.
RUN = st.just(Go()) | st.builds(
    Go,
    kill=st.none() | st.sampled_from(Kill),
    retried=st.booleans(),
    again=st.booleans(),
    strict=st.booleans(),
)


def ending(draw: st.DrawFn, kind: Kind, kill: Kill | None = None) -> list[Event]:
    """Rows of long after, which close what was open; then one of the beginning, and a kill."""
    first = kind.sources[0]
    last = Go(kill=kill or draw(st.sampled_from(Kill)))
    if kind.late is None:
        rows = draw(st.lists(kind.rows(first), min_size=1, max_size=3))
        return [Arrive(first, at_round(kind, rows, RUNS)), last]
    after = [
        Arrive(name, at_round(kind, [{**kind.late, kind.time: Minute(0)}], 1000))
        for name in kind.sources
    ]
    return [
        *after,
        Go(),
        Arrive(first, at_round(kind, [{**kind.late, kind.time: Minute(1)}], 0)),
        last,
    ]


def at_round(kind: Kind, rows: Sequence[Any], number: int) -> tuple[Any, ...]:
    """Rows of a round, each round some time after the one before."""
    later = kind.step * number
    return tuple(
        {name: said(v.minute + later) if isinstance(v, Minute) else v for name, v in row.items()}
        if isinstance(row, dict)
        else row
        for row in rows
    )
