"""Settled history: a run of live batches reads only what is after it, and decides the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.generation_builder import made_again
from tests.support.histories.history_builder import History, row, rows
from tests.support.histories.lease_holders import take_over
from tests.support.listed_folders import listings
from tests.support.opened_files import opened_files
from tidemill.contract.report import Outcome
from tidemill.increments import settle, swap_order
from tidemill.increments.recent_snapshot import RecentSnapshot, read_history
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.recent_journal import read_news
from tidemill.journal.settled import Settled, clear_settled, put_settled, read_settled
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.lease import newest_epoch

TARGETS = ("delta",)


@pytest.fixture(autouse=True)
def _settles_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "EVERY", 3)


@pytest.fixture
def settled_one(history: History) -> History:
    """A pipeline of six increments, the first five of which are settled."""
    for number in range(1, 7):
        history.increment(rows(number))
        history.publish()
    # The first three were settled when there were four; only every third publish writes a record.
    with history.run().hold("publish") as held:
        settle.settle(history.snapshot, TARGETS, held.epoch)
    return history


def settled_of(history: History) -> Settled:
    found = read_settled(history.layout, TARGETS)
    assert found is not None
    return found


def recent(history: History) -> Snapshot:
    return read_history(history.layout, TARGETS, None)


def numbers_read(opened: list[Path], folder: Path) -> set[int]:
    """The numbers of the documents of a folder that were opened."""
    places = [path.relative_to(folder).parts[0] for path in opened if folder in path.parents]
    return {int(place.partition(".")[0]) for place in places if place[0].isdecimal()}


def test_it_ends_before_the_last_event_of_live_batches(settled_one: History) -> None:
    settled = settled_of(settled_one)
    assert (settled.seq, settled.increment) == (5, 5)
    assert (settled.sealed, settled.published) == ({"live-0001": 4}, {"live-0001": 4})


def test_a_run_opens_what_is_after_it_alone(settled_one: History) -> None:
    history, layout = settled_one, settled_one.layout
    history.increment(rows(7))
    with opened_files(layout.home) as opened:
        assert perform("doctor", doctor, history.run()).outcome is Outcome.DONE
        assert history.publish().outcome is Outcome.DONE
    # Event 5 proves that the record is of this journal; the status document counted up to 6.
    assert numbers_read(opened, layout.journal) == {5, 6, 7}
    assert numbers_read(opened, layout.increments) == {6, 7}
    assert history.ids() == [*range(1, 8)]


def test_what_is_after_it_looks_the_same_as_in_the_whole_history(settled_one: History) -> None:
    settled_one.increment(rows(7))
    settled_one.increment(rows(8), outcome="held")
    whole, part = settled_one.snapshot, recent(settled_one)
    assert isinstance(part, RecentSnapshot)
    assert part.waiting() == whole.waiting()
    assert part.events == [event for event in whole.events if event.seq > 5]
    assert part.increments == [one for one in whole.increments if one.number > 5]
    for fact in ("last_seq", "generation", "takeovers"):
        assert getattr(part, fact) == getattr(whole, fact)
    assert part.last_sealed("live-0001") == whole.last_sealed("live-0001") == 7
    assert part.last_published("live-0001") == whole.last_published("live-0001") == 5
    assert part.store.next_number() == whole.store.next_number() == 9
    assert part.get(2) == whole.get(2)


def test_a_held_increment_and_what_waits_behind_it_stay_out(history: History) -> None:
    for number in range(1, 5):
        history.increment(rows(number))
    history.increment(rows(5), outcome="held")
    history.increment(rows(6))
    history.publish()
    assert settled_of(history).increment == 3
    history.release(5)
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1, 2, 3, 4, 5, 6]


def test_a_target_that_lags_keeps_its_events_out(settled_one: History) -> None:
    assert read_settled(settled_one.layout, ("delta", "files")) is None
    settled_one.more = "publish: [{kind: delta}, {kind: files}]\n"
    settled_one.write_spec(more=settled_one.more)
    assert settled_one.publish().outcome is Outcome.DONE
    assert len(settled_one.journal.applied_by("files")) == 6


def test_a_recomputation_that_is_open_is_compared_with_all_events(settled_one: History) -> None:
    first = settled_one.snapshot.get(1).sealed
    made_again(settled_one, [row(1)], first=first.first, last=first.last)
    assert not isinstance(recent(settled_one), RecentSnapshot)


def test_an_event_of_settled_batches_comes_too_late(settled_one: History) -> None:
    (third,) = [event for event in settled_one.snapshot.events if event.seq == 3]
    late = third.model_copy(update={"seq": 7})
    settled_one.journal.append(late)
    for snapshot in (settled_one.snapshot, recent(settled_one)):
        why = swap_order.overtaken(snapshot, late, snapshot.events[:-1])
        assert why is not None


def test_a_record_of_another_history_says_nothing(settled_one: History) -> None:
    file = settled_one.layout.journal / f"{settled_of(settled_one).seq:06d}.json"
    file.write_text(file.read_text().replace('"run_id"', ' "run_id"'))
    assert read_settled(settled_one.layout, TARGETS) is None
    file.unlink()
    assert read_settled(settled_one.layout, TARGETS) is None


def test_what_a_paused_writer_says_after_a_repair_does_not_count(settled_one: History) -> None:
    stale = settled_of(settled_one)
    take_over(settled_one.layout.lease)
    clear_settled(settled_one.layout, newest_epoch(settled_one.layout.lease))
    (settled_one.layout.settled / "000005.json").unlink()
    put_settled(settled_one.layout, stale)
    assert read_settled(settled_one.layout, TARGETS) is None
    settled_one.increment(rows(7))
    settled_one.publish()
    assert settled_of(settled_one).epoch > stale.epoch


def test_an_event_that_is_gone_hides_no_later_one(settled_one: History) -> None:
    for number in (7, 8):
        settled_one.increment(rows(number))
        settled_one.publish()
    (settled_one.layout.journal / "000007.json").unlink()
    part = recent(settled_one)
    assert isinstance(part, RecentSnapshot)
    assert (part.last_seq, part.journal.missing()) == (8, [7])


def test_events_that_nobody_was_told_of_are_news_though_they_are_settled(
    settled_one: History,
) -> None:
    layout = settled_one.layout
    told = [event.seq for event in read_news(layout, TARGETS).unannounced()]
    assert told == [1, 2, 3, 4, 5, 6]
    for number in told:
        settled_one.journal.announce(number)
    settled_one.increment(rows(7))
    settled_one.publish()
    with listings(layout.journal) as listed:
        assert [event.seq for event in read_news(layout, TARGETS).unannounced()] == [7]
    assert listed == []


def test_nothing_is_written_while_little_has_become_settled(history: History) -> None:
    for number in range(1, 4):
        history.increment(rows(number))
        history.publish()
    assert not history.layout.settled.exists()
