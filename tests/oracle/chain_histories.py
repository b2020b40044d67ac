"""Histories of chains: what happens to the first pipeline, and when those after it run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.oracle.changed_versions import kind_of
from tests.oracle.decisions import HOUR, OF_PARTS, Ask, Edit, Resume, round_of
from tests.oracle.history import LIMITS, RUN, Arrive, Go, LetOut, Limit, at_round
from tests.oracle.pipeline_inputs import Minute

# Rows so late that they close all that came before: also where the first came by a rebuild, which
# no watermark sees.
FAR = (1000, 2000)
LAST = 3000
FAR_ROWS = {
    "device_signals": {"device": "a", "type": "pump", "signal": "30"},
    "unique_events": {"id": "z", "kind": "k"},
    "windowed_words": {"text": "tide"},
}


@dataclass(frozen=True)
class Down:
    """Something happens to a pipeline further down.

    Args:
        link: 0 for the second, 1 for the third.
        event: What.
    """

    link: int
    event: Go | LetOut | Limit


@dataclass(frozen=True)
class Settle:
    """What is held further down is let out, and runs go on until none has anything to do.

    Args:
        whole: Whether nothing may be due any more; windows that are open may have to wait.
    """

    whole: bool = False


TURN = st.builds(Down, st.sampled_from((0, 0, 1)), RUN)


@st.composite
def chained(draw: st.DrawFn, first: str, rounds: int = 2) -> tuple[Any, ...]:
    """Histories of a chain whose first pipeline people fix, decide about and have computed again.

    Args:
        draw: Hypothesis's.
        first: The case of the first pipeline.
        rounds: The rounds of arrivals, before that of the rows which close everything.
    """
    kind = kind_of(first)
    events: list[Any] = [Down(link, draw(LIMITS)) for link in (0, 1)]
    for number in range(rounds):
        for event in round_of(draw, kind, OF_PARTS, number):
            events.append(event)
            if isinstance(event, Go | Ask | LetOut) and draw(st.booleans()):
                events.append(draw(TURN))
        if draw(st.booleans()):
            events.append(Down(draw(st.integers(0, 1)), LetOut()))
        elif draw(st.booleans()):
            events.append(Settle())
    events += [Resume(), LetOut(everything=True), Go(), LetOut(everything=True), Settle()]
    end = HOUR * (1 + kind.step * rounds // HOUR)
    edit = Edit(code=draw(st.booleans()), rule=draw(st.booleans()))
    again = Ask("rebuild" if draw(st.booleans()) else "backfill", end=end)
    events += [*(one for far in FAR for one in _far(first, far)), draw(TURN), edit, again]
    return (*events, draw(TURN), Settle(), *_far(first, LAST), Settle(whole=True))


def _far(first: str, number: int) -> tuple[Any, ...]:
    kind = kind_of(first)
    rows = at_round(kind, [{**FAR_ROWS[first], kind.time: Minute(0)}], number)
    return Arrive(kind.sources[0], rows), Go()
