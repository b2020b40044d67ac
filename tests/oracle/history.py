"""Histories of a pipeline: what arrives, what runs, what is killed, held and let out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st


class Kill(StrEnum):
    """At which point of its last batch a driver was killed: what is there and what is not.

    Attributes:
        LEDGER: Committed, and not yet in our ledger.
        COMMIT: Its rows are in the sink, and Spark has not committed it.
        SINK: Planned; its files lie there, and the sink does not know them.
    """

    LEDGER = "ledger"
    COMMIT = "commit"
    SINK = "sink"


@dataclass(frozen=True)
class Arrive:
    """A file arrives, of rows as they are in it."""

    source: str
    rows: tuple[Any, ...]


@dataclass(frozen=True)
class Go:
    """A run of all steps.

    Args:
        kill: Where its driver is killed, after which the run is tried again.
        again: Whether gate and publish are cleared and run once more.
        strict: Whether the gate then expects what no increment holds.
    """

    kill: Kill | None = None
    again: bool = False
    strict: bool = False


@dataclass(frozen=True)
class LetOut:
    """A person releases the first held increment, if there is one."""


Event = Arrive | Go | LetOut
RUNS = 5


def histories(
    rows: Callable[[str], st.SearchStrategy[Any]],
    sources: list[str],
    ending: tuple[Arrive, ...] = (),
) -> Any:
    """Histories of at least five runs, a kill among them.

    Args:
        rows: Of a source, one row as it stands in a file: JSON, or a text that is none.
        sources: Their names.
        ending: What arrives last, with a run after each.
    """
    arrivals = st.sampled_from(sources).flatmap(
        lambda name: st.builds(Arrive, st.just(name), st.lists(rows(name), max_size=6).map(tuple))
    )
    runs = st.builds(
        Go,
        kill=st.none() | st.sampled_from(Kill),
        again=st.booleans(),
        strict=st.sampled_from([False, False, False, True]),
    )
    round_ = st.tuples(
        st.lists(arrivals, min_size=1, max_size=2), runs, st.none() | st.just(LetOut())
    )
    rounds = st.lists(round_, min_size=RUNS, max_size=RUNS + 2)
    return rounds.map(lambda drawn: _flat(drawn, ending))


def _flat(
    rounds: list[tuple[list[Arrive], Go, LetOut | None]], ending: tuple[Arrive, ...]
) -> tuple[Event, ...]:
    events: list[Event] = []
    for arrivals, run, let_out in rounds:
        events += [*arrivals, run, *([let_out] if let_out else [])]
    if not any(isinstance(event, Go) and event.kill for event in events):
        last = max(n for n, event in enumerate(events) if isinstance(event, Go))
        events[last] = Go(kill=Kill.COMMIT)
    events += [event for arrival in ending for event in (arrival, Go())]
    # In the end nothing is held, so that all that was taken in is published.
    return (*events, LetOut(), LetOut(), LetOut(), Go())
