"""Whoever reads the good and the rejected rows finds every row in one of them, at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.histories.generation_builder import days, made_again, rebuilt
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Journal
from tidemill.publish.delta import commit
from tidemill.publish.target_heads import verify_tables

Patch = pytest.MonkeyPatch
COMMITS = ("the new rejected rows", "the good rows", "the replaced rejected rows", "the journal")


class KilledError(BaseException):
    """The process ends here."""


def swap(history: History) -> None:
    made_again(
        history,
        rows(1, 2),
        [reject("3")],
        partitions=days("2024-01-01"),
        replaces_rejects_of=("file:///in/x.csv",),
    )


def rebuild(history: History) -> None:
    rebuilt(history, rows(1, 2), rejected=[reject("3")])


@pytest.fixture(params=[swap, rebuild])
def computed_again(history: History, request: pytest.FixtureRequest) -> History:
    """The third of three rows was good and is rejected now; the second the other way round."""
    history.increment(rows(1, 3), [reject("2")])
    history.publish()
    request.param(history)
    return history


def found(history: History) -> set[int]:
    """The rows that are in either table."""
    return {*history.ids(), *map(int, history.records())}


def watched(history: History, patch: Patch, before: Callable[[int], None]) -> None:
    """Look at both tables around each commit, and do something before it."""
    commits = [0]
    compare_and_commit, record = commit.compare_and_commit, Journal.record

    def around(action: Callable[..., Any]) -> Callable[..., Any]:
        def commit_between_looks(*args: Any) -> Any:
            before(commits[0])
            commits[0] += 1
            done = action(*args)
            assert found(history) == {1, 2, 3}
            return done

        return commit_between_looks

    patch.setattr(commit, "compare_and_commit", around(compare_and_commit))
    patch.setattr(Journal, "record", around(record))


@pytest.mark.parametrize("killed", range(len(COMMITS)), ids=COMMITS)
def test_also_where_a_publish_was_killed_before_one_of_its_commits(
    computed_again: History, monkeypatch: Patch, killed: int
) -> None:
    def die(number: int) -> None:
        if number == killed:
            raise KilledError

    with monkeypatch.context() as patch:
        watched(computed_again, patch, die)
        with pytest.raises(KilledError):
            computed_again.publish("again")
    assert found(computed_again) == {1, 2, 3}
    with monkeypatch.context() as patch:
        watched(computed_again, patch, lambda _: None)
        assert computed_again.publish("next").outcome is Outcome.DONE
    assert (computed_again.ids(), computed_again.records()) == ([1, 2], ["3"])
    assert computed_again.publish("idle").outcome is Outcome.DONE
    assert (computed_again.ids(), computed_again.records()) == ([1, 2], ["3"])
    verify_tables(computed_again.pipeline)


def test_there_are_no_other_commits(computed_again: History, monkeypatch: Patch) -> None:
    numbers: list[int] = []
    with monkeypatch.context() as patch:
        watched(computed_again, patch, numbers.append)
        computed_again.publish("again")
    assert numbers == [*range(len(COMMITS))]
