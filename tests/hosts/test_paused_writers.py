"""A writer on another host is paused, succeeded here, and goes on: no reader sees a difference.

It is stopped with SIGSTOP at a point of its own code, for longer than the time limit of whoever
succeeds it, and continued. Beside them somebody reads all the time: each look must be one of the
states that the journal stands for, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date

import pytest

from tests.hosts.host import Writer, writer_elsewhere
from tests.hosts.reader import State, reading
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.report import Outcome
from tidemill.ledger.run_increment import read_run_increment
from tidemill.steps.parts.seal import seal
from tidemill.storage.lease import hold

SECOND = date(2024, 1, 2)
EVENT = "link journal/000002.json"
REFUSED = ("AlreadyWritten", "EventOvertaken", "LeaseLost")


@contextmanager
def paused(
    history: History, action: str, run_id: str, stop: str, seen: Sequence[Sequence[int]]
) -> Iterator[Writer]:
    """A writer elsewhere that is paused; in the end consumers have seen these ids, in order."""
    with (
        reading(history.layout) as reader,
        writer_elsewhere(history, action, run_id, stop=stop) as writer,
    ):
        writer.pause()
        reader.look()
        yield writer
    expected: list[State] = [(tuple(ids), ()) for ids in seen]
    assert reader.strays(expected) == []
    assert reader.states[-1] == expected[-1]


def publish_all(history: History) -> None:
    """Two runs later everything that may go out is out."""
    for run_id in ("next", "last"):
        assert history.publish(run_id).outcome is Outcome.DONE


@pytest.fixture
def published(history: History) -> History:
    history.increment([row(1), row(2, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


@pytest.mark.parametrize("stop", ["after tidemill.increments.swap_order:conflicting_event", EVENT])
def test_a_swap_that_was_paused_takes_away_no_row_that_went_out_meanwhile(
    published: History, stop: str
) -> None:
    made_again(published, [row(20, SECOND)], partitions=days("2024-01-02"))
    with paused(published, "publish", "again", stop, [[1, 2], [1, 2, 3]]) as writer:
        published.increment([row(3, SECOND)])
        assert published.publish("here").outcome is Outcome.DONE
        assert writer.go_on() in REFUSED
        publish_all(published)
    assert [event.increment for event in published.journal.events()] == [1, 3]


def test_a_row_that_a_paused_swap_moves_between_the_tables_is_always_in_one_of_them(
    history: History,
) -> None:
    # The new code accepts record 20, which was rejected, and rejects row 2, which was accepted.
    history.increment([row(1), row(2, SECOND)], [reject("20", day="2024-01-02")])
    assert history.publish().outcome is Outcome.DONE
    made_again(
        history,
        [row(20, SECOND)],
        [reject("2", day="2024-01-02")],
        partitions=days("2024-01-02"),
    )
    stop = "before tidemill.publish.delta.target:DeltaTarget.apply"
    with (
        reading(history.layout) as reader,
        writer_elsewhere(history, "publish", "again", stop=stop) as writer,
    ):
        writer.pause()
        reader.look()
        history.increment([row(3, SECOND)])
        assert history.publish("here").outcome is Outcome.DONE
        versions = history.log()
        writer.go_on()
        assert history.log() == versions
        publish_all(history)
    expected: list[State] = [
        ((1, 2), ("20",)),
        ((1, 2), ("2", "20")),
        ((1, 20), ("2", "20")),
        ((1, 20), ("2",)),
        ((1, 3, 20), ("2",)),
    ]
    assert reader.strays(expected) == []
    assert expected[1] in reader.states
    assert reader.states[-1] == expected[-1]


@pytest.mark.parametrize("meanwhile", ["the redo is published", "the redo is sealed only"])
def test_an_increment_that_was_computed_again_meanwhile_is_not_let_out(
    published: History, meanwhile: str
) -> None:
    passed = published.increment(rows(3))
    with paused(published, "publish", "let out", EVENT, [[1, 2], [1, 2, 30]]) as writer:
        with hold(published.layout.lease, step="redo", run_id="redo"):
            redo = made_again(
                published,
                rows(30),
                kind="redo",
                run_id="redo",
                first=1,
                last=1,
                supersedes=(passed,),
            )
        if meanwhile == "the redo is published":
            assert published.publish("redo").outcome is Outcome.DONE
        assert writer.go_on() in REFUSED
        publish_all(published)
    assert [event.increment for event in published.journal.events()] == [1, redo]


def test_a_gate_that_was_paused_does_not_take_another_runs_increment_for_its_own(
    history: History,
) -> None:
    history.batch(rows(1))
    layout = history.layout
    stop = "link increments/000001/sealed.json"
    with writer_elsewhere(history, "seal", "elsewhere", stop=stop) as writer:
        writer.pause()
        with history.run("here").hold("gate") as held:
            assert seal(held, history.snapshot) == 1
        assert writer.go_on() in REFUSED
    assert history.snapshot.get(1).sealed.run_id == "here"
    assert read_run_increment(layout.run("elsewhere")) is None


def test_a_paused_writer_that_was_succeeded_leaves_as_soon_as_it_wakes(published: History) -> None:
    published.increment(rows(3))
    stop = "before tidemill.publish.delta.target:DeltaTarget.apply"
    seen = [[1, 2], [1, 2, 3]]
    with paused(published, "publish and leave", "elsewhere", stop, seen) as writer:
        assert published.publish("here").outcome is Outcome.DONE
        assert writer.wake() == 1
