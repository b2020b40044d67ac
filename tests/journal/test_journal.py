"""The journal: one order of events, which every target applies from its own head."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.journal.journal import Applied, Journal
from tidemill.storage.documents import AlreadyWritten


@pytest.fixture
def journal(history: History) -> Journal:
    """Two events, of which the first is applied."""
    for number in (1, 2):
        history.increment(rows(number))
    history.publish()
    (history.layout.journal / "000002.delta.json").unlink()
    return history.journal


def applied(seq: int, target: str = "delta", version: int = 7, *, head: bool = True) -> Applied:
    now = datetime.now(UTC)
    return Applied(seq=seq, target=target, head=head, version=version, run_id="r", at=now)


def test_events_come_in_order_and_without_what_targets_made_of_them(journal: Journal) -> None:
    assert [event.seq for event in journal.events()] == [1, 2]
    assert [event.increment for event in journal.events()] == [1, 2]


def test_the_place_of_an_event_is_taken_once(journal: Journal) -> None:
    first, second = journal.events()
    with pytest.raises(AlreadyWritten):
        journal.append(first.model_copy(update={"seq": 2, "increment": 9}))
    assert journal.events() == [first, second]
    journal.append(second.model_copy(update={"seq": 3}))
    assert len(journal.events()) == 3


def test_what_a_target_made_of_an_event_is_written_once(journal: Journal) -> None:
    assert journal.applied(2, "delta") is None
    journal.record(applied(2))
    assert journal.record(applied(2, version=8)).version == 7
    found = journal.applied(2, "delta")
    assert found is not None
    assert found.version == 7


def test_targets_have_heads_of_their_own(journal: Journal) -> None:
    assert journal.behind("postgres.x.orders") == [1, 2]
    journal.record(applied(1, "postgres.x.orders", head=False))
    assert journal.applied(1, "postgres.x.orders") is not None
    assert journal.applied(2, "postgres.x.orders") is None
    assert journal.behind("postgres.x.orders") == [2]
    assert journal.behind("postgres.x") == [1, 2]
    assert journal.behind("delta") == [2]


def test_published_is_what_the_head_target_applied(journal: Journal) -> None:
    journal.record(applied(2, "postgres.x.orders", version=2, head=False))
    assert {seq: one.target for seq, one in journal.published().items()} == {1: "delta"}
    assert [event.seq for event in journal.unannounced()] == [1]


def test_another_head_target_unpublishes_nothing(journal: Journal) -> None:
    # The spec named PostgreSQL first before event 2 came, and it has applied no more than that.
    journal.record(applied(2, "postgres.x.orders", version=2))
    published = {seq: one.target for seq, one in journal.published().items()}
    assert published == {1: "delta", 2: "postgres.x.orders"}


def test_consumers_are_told_once_and_only_of_what_they_can_see(journal: Journal) -> None:
    assert [event.seq for event in journal.unannounced()] == [1]
    journal.announce(1)
    journal.announce(1)
    assert journal.unannounced() == ()
    journal.record(applied(2))
    assert [event.seq for event in journal.unannounced()] == [2]


def test_an_empty_journal(history: History) -> None:
    assert history.journal.events() == []
    assert history.journal.unannounced() == ()
