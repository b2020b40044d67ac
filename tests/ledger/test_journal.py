"""The journal: one order of events, which every target applies from its own head."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spark_jobs.ledger.journal import Applied, Event, Journal
from tests.histories import History, rows


@pytest.fixture
def journal(history: History) -> Journal:
    """Two events, of which the first is applied."""
    for number in (1, 2):
        history.increment(rows(number))
    history.publish()
    (history.layout.journal / "000002.delta.json").unlink()
    return history.journal


def applied(seq: int, target: str = "delta", version: int = 7) -> Applied:
    return Applied(seq=seq, target=target, version=version, run_id="r", at=datetime.now(UTC))


def test_events_come_in_order_and_without_what_targets_made_of_them(journal: Journal) -> None:
    assert [event.seq for event in journal.events()] == [1, 2]
    assert [event.increment for event in journal.events()] == [1, 2]


def test_the_place_of_an_event_is_taken_once(journal: Journal) -> None:
    first, second = journal.events()
    assert not journal.append(first.model_copy(update={"seq": 2, "increment": 9}))
    assert journal.events() == [first, second]
    assert journal.append(second.model_copy(update={"seq": 3}))
    assert len(journal.events()) == 3


def test_what_a_target_made_of_an_event_is_written_once(journal: Journal) -> None:
    assert journal.applied(2) is None
    assert journal.record(applied(2))
    assert not journal.record(applied(2, version=8))
    found = journal.applied(2)
    assert found is not None
    assert found.version == 7


def test_targets_have_heads_of_their_own(journal: Journal) -> None:
    assert journal.record(applied(1, "postgres"))
    assert journal.applied(1, "postgres") is not None
    assert journal.applied(2, "postgres") is None
    assert journal.applied(1, "delta") is not None


def test_an_event_is_found_by_its_increment(journal: Journal) -> None:
    found = journal.of_increment(2)
    assert isinstance(found, Event)
    assert (found.seq, found.first, found.last) == (2, 1, 1)
    assert journal.of_increment(3) is None


def test_consumers_are_told_once_and_only_of_what_they_can_see(journal: Journal) -> None:
    assert [event.seq for event in journal.unannounced()] == [1]
    assert journal.announce(1)
    assert not journal.announce(1)
    assert journal.unannounced() == ()
    journal.record(applied(2))
    assert [event.seq for event in journal.unannounced()] == [2]


def test_an_empty_journal(history: History) -> None:
    assert history.journal.events() == []
    assert history.journal.unannounced() == ()
