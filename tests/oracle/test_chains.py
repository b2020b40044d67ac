"""Random chains of three pipelines, held against the composed transforms in plain Python.

Short ones are of maps, without Spark; the others have shipped pipelines for the first link, and
state further down.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.oracle.chain_cases import CHAINS
from tests.oracle.chain_histories import Down, chained
from tests.oracle.decisions import Ask, Edit
from tests.oracle.history import Go
from tests.oracle.numbered import LONG, new_folder, numbered, play_one
from tests.oracle.play_chain import ShippedChain
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


@pytest.mark.parametrize(("name", "number"), numbered(["maps"]))
def test_the_last_table_is_the_composed_transform_of_the_first_input(
    name: str, number: int, tmp_path: Path
) -> None:
    def holds(steps: list[tuple[str, int]]) -> None:
        chain = PlayedChain(new_folder(tmp_path))
        chain.append(1)
        chain.settle()
        for what, which in steps:
            play(chain, what, which)
            chain.assert_only_due_differs()
        chain.settle()
        assert chain.third.ids() == chain.expected()
        assert chain.second.due() + chain.third.due() == []

    play_one(
        st.lists(STEPS, min_size=6, max_size=24 if LONG else 12),
        f"chains/{name}/{number}" if LONG else name,
        holds,
        telling=lambda steps: len({what for what, _ in steps}) > 4,
        examples=1 if LONG else 8,
    )


@pytest.mark.parametrize(
    ("name", "number"),
    numbered(
        CHAINS if LONG else ["signals counted"], "test_and_after_any_history_of_shipped_pipelines"
    ),
)
def test_and_after_any_history_of_shipped_pipelines(
    name: str,
    number: int,
    tmp_path: Path,
    spark: object,
    request: pytest.FixtureRequest,
) -> None:
    chain, met = CHAINS[name], Counter[str]()

    def holds(events: tuple[object, ...]) -> None:
        played = ShippedChain(chain, new_folder(tmp_path))
        played.play(events)
        met.update(played.met)

    play_one(
        chained(chain.first),
        f"chains/{name}/{number}" if LONG else name,
        holds,
        telling=_tells,
    )
    request.node.user_properties.append(("met", dict(met)))
    assert met["settled"] >= 2
    assert met["due down"] or LONG


def _tells(events: tuple[object, ...]) -> bool:
    """Whether something is held up or killed on each link, and new code computes a part again."""
    runs = [(one.link, one.event) for one in events if isinstance(one, Down)]
    disturbed = {
        link for link, run in runs if isinstance(run, Go) and (run.strict or run.kill is not None)
    }
    edited = any(isinstance(one, Edit) and one.code for one in events)
    asked = [one.role for one in events if isinstance(one, Ask)]
    return disturbed == {0, 1} and edited and asked[-1] == "backfill"
