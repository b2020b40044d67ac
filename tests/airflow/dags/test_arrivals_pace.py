"""How often a pipeline is woken of which nothing comes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidemill_airflow.dags.arrivals import LONGEST_PAUSE, Pace


@pytest.fixture
def wakes() -> Callable[[int, float], bool]:
    return Pace(30).may_wake


def test_a_pipeline_that_gets_on_may_be_woken_at_each_look(
    wakes: Callable[[int, float], bool],
) -> None:
    assert [wakes(batches, 30.0 * batches) for batches in range(5)] == [True] * 5


def test_one_that_does_not_is_woken_ever_more_rarely(wakes: Callable[[int, float], bool]) -> None:
    woken = [now for now in range(0, 3000, 30) if wakes(3, now)]
    assert woken == [0, 30, 90, 210, 450, 930, 1890]


def test_it_is_never_given_up(wakes: Callable[[int, float], bool]) -> None:
    woken = [now for now in range(0, 200_000, 30) if wakes(3, now)]
    pauses = {later - earlier for earlier, later in zip(woken[-5:], woken[-4:], strict=False)}
    assert pauses == {LONGEST_PAUSE}


def test_once_it_gets_on_again_the_pace_is_as_before(wakes: Callable[[int, float], bool]) -> None:
    for now in range(0, 3000, 30):
        wakes(3, now)
    assert wakes(4, 3000)
    assert wakes(4, 3030)
