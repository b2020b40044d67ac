"""The watcher of a table that another pipeline publishes: what over there starts a run here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.airflow.triggerer import POKE, Supervisor, first_sent
from tests.support.histories.played_chain import PlayedChain
from tidemill_airflow.dags.arrivals import ArrivalTrigger


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedChain:
    return PlayedChain.begun(tmp_path, monkeypatch)


def watching() -> ArrivalTrigger:
    return ArrivalTrigger("second", "tables", POKE)


def test_rows_that_are_published_are_an_event_of_the_triggerers_own_runner(
    chain: PlayedChain, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = first_sent(watching(), lambda: chain.append(2), monkeypatch)
    assert (found["new"].keys(), found["trouble"]) == ({"orders"}, None)


def test_a_held_increment_wakes_nobody_until_it_is_released(chain: PlayedChain) -> None:
    chain.append(2, hold=True)
    assert not watching()._look().wakes
    chain.release()
    assert watching()._look().new.keys() == {"orders"}
    chain.second.turn()
    assert not watching()._look().wakes


@pytest.mark.parametrize(
    ("swapped", "due", "said"),
    [
        ("follow", True, False),
        # A run has to say why it takes in no more.
        ("hold", False, True),
        ("warn", False, False),
        ("ignore", False, False),
    ],
)
def test_a_swap_wakes_whoever_follows_it_or_is_held_by_it(
    chain: PlayedChain, swapped: str, due: bool, said: bool
) -> None:
    chain.second.write_spec(swapped=swapped)
    chain.backfill(1)
    seen = watching()._look()
    assert (seen.new, seen.due, seen.trouble is not None) == ({}, due, said)
    assert seen.wakes is (due or said)


def test_a_swap_that_is_followed_wakes_once(chain: PlayedChain) -> None:
    chain.backfill(1)
    chain.second.turn()
    assert not watching()._look().wakes
