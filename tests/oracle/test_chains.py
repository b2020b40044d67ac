"""Random chains of three pipelines, held against the composed transforms in plain Python."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.histories.chained_history import POINTS, Stopped
from tests.support.histories.played_chain import PlayedChain

DAYS = st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("append"), DAYS),
    st.tuples(st.just("append"), DAYS),
    st.tuples(st.just("hold"), DAYS),
    st.tuples(st.sampled_from(("release", "redo", "rebuild")), st.just(0)),
    st.tuples(st.just("backfill"), DAYS),
    st.tuples(st.just("backfill"), DAYS),
    st.tuples(st.just("second"), st.just(0)),
    st.tuples(st.just("second"), st.just(0)),
    st.tuples(st.just("third"), st.just(0)),
    st.tuples(st.just("stop second"), st.sampled_from(range(len(POINTS)))),
)


def play(chain: PlayedChain, what: str, number: int) -> None:
    match what:
        case "append" | "hold":
            chain.append(number, hold=what == "hold")
        case "backfill":
            chain.backfill(number)
        case "second" | "third":
            getattr(chain, what).turn()
        case "stop second":
            with suppress(Stopped):
                chain.second.turn(stop_at=POINTS[number])
        case _:
            getattr(chain, what)()


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=6, max_size=12))
def test_the_last_table_is_the_composed_transform_of_the_first_input(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    chain = PlayedChain(tmp_path_factory.mktemp("chain"))
    chain.append(1)
    chain.settle()
    for what, number in steps:
        play(chain, what, number)
        chain.assert_only_due_differs()
    chain.settle()
    assert chain.third.ids() == chain.expected()
    assert chain.second.due() + chain.third.due() == []
