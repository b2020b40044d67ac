"""One snapshot of journal and increments: what a step adds is in it, and nothing else."""

from __future__ import annotations

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.increments.increment import State
from tidemill.increments.snapshot import Snapshot
from tidemill.storage.documents import AlreadyWritten


def test_it_knows_the_event_of_each_increment_that_went_out(history: History) -> None:
    history.increment(rows(2))
    history.publish()
    waiting = history.increment(rows(3))
    snapshot = Snapshot(history.layout)
    assert {number: event.seq for number, event in snapshot.event_of.items()} == {1: 1}
    assert [one.number for one in snapshot.waiting()] == [waiting]
    assert (snapshot.last_sealed("live-0001"), snapshot.last_published("live-0001")) == (1, 0)


def test_it_shows_what_was_added_through_it(history: History) -> None:
    history.batch(rows(2))
    sealed = history.seal()
    snapshot = Snapshot(history.layout)
    assert snapshot.get(1).state is State.SEALED
    history.increment(rows(3))
    assert [one.number for one in snapshot.increments] == [1], "another writer's is not in it"
    snapshot.seal(sealed.model_copy(update={"increment": 3}))
    assert [one.number for one in snapshot.increments] == [1, 2, 3]


def test_an_event_of_another_writer_keeps_it_from_adding_one(history: History) -> None:
    history.increment(rows(2))
    before = Snapshot(history.layout)
    history.publish()
    (event,) = history.journal.events()
    with pytest.raises(AlreadyWritten):
        before.append(event.model_copy(update={"increment": 7}))
    assert before.events == []


def test_a_pipeline_that_never_ran_has_an_empty_one(history: History) -> None:
    snapshot = Snapshot(history.layout)
    assert (snapshot.events, snapshot.last_seq, snapshot.increments) == ([], 0, [])
    assert (snapshot.generation, snapshot.last_sealed("live-0001")) == ("live-0001", -1)
