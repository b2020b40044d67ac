"""A chain in which the pipeline that follows is killed between the swap upstream and its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.played_chain import PlayedChain
from tests.support.kills.killed_turn import IN_TABLE, RUN, kill_turn


@pytest.mark.parametrize(
    ("point", "retried"),
    [
        ("asked", True),
        ("sealed", True),
        ("sealed", False),
        ("in the journal", False),
        (IN_TABLE, True),
    ],
)
def test_what_is_due_is_computed_once_after_a_kill(
    tmp_path: Path, spark: object, point: str, retried: bool
) -> None:
    chain = PlayedChain(tmp_path)
    chain.append(1)
    chain.settle()
    chain.backfill(1)
    kill_turn(tmp_path, point)
    chain.assert_only_due_differs()
    if retried:
        chain.second.turn(RUN)
    chain.settle()
    assert chain.third.ids() == chain.expected()
    assert [event.kind for event in chain.second.snapshot.events] == ["increment", "swap"]
    assert chain.second.due() + chain.third.due() == []
