"""Writers that were paused between their look and their event: what they decided does not count.

Another host is played by taking the next epoch of the lease; what it does then is done by our own
steps. Journals that an older version wrote in such a race are fixed by the next publish.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from tests.support.histories.generation_builder import days, made_again, rebuilt
from tests.support.histories.history_builder import History, row, rows
from tests.support.histories.lease_holders import take_over
from tidemill.contract.report import Outcome
from tidemill.increments import swap_order
from tidemill.increments.increments import State
from tidemill.journal.journal import Event, Journal
from tidemill.journal.published_files import files_now
from tidemill.journal.takeovers import current
from tidemill.publish.catch_up import CatchUp, EventOvertaken
from tidemill.publish.registry import targets_of
from tidemill.steps.parts.journal_entries import Entries

SECOND = date(2024, 1, 2)
Patch = pytest.MonkeyPatch


@pytest.fixture
def published(history: History) -> History:
    history.increment([row(1), row(2, SECOND)])
    history.publish()
    return history


def once(action: Callable[[], object]) -> Callable[[], None]:
    """An action that is done at the first call only."""
    left = [action]
    return lambda: left.pop()() and None if left else None


def put_into_the_journal(history: History, number: int) -> Event:
    """The event of an increment, whatever has become of it; no target gets it."""
    with history.run("paused").hold("publish") as held:
        entries = Entries(held, history.snapshot)
        entries.append(entries.snapshot.get(number))
    return entries.snapshot.events[-1]


def reasons(history: History) -> dict[int, str]:
    """The withdrawn events, by the increment that they stood for."""
    found = history.journal.withdrawals()
    return {event.increment: withdrawal.reason for event, withdrawal in found}


@pytest.mark.parametrize("paused_at", ["its look for a rival", "its event"])
def test_a_swap_whose_writer_was_paused_takes_no_later_row_away(
    published: History, monkeypatch: Patch, paused_at: str
) -> None:
    swap = made_again(published, [row(20, SECOND)], partitions=days("2024-01-02"))

    def meanwhile() -> None:
        take_over(published.layout.lease)
        published.increment([row(3, SECOND)])
        assert published.publish("elsewhere").outcome is Outcome.DONE

    resume = once(meanwhile)
    append, conflicting_event = Journal.append, swap_order.conflicting_event

    def append_late(journal: Journal, event: Event) -> None:
        resume()
        append(journal, event)

    def rival_then_pause(*args: object) -> Event | None:
        found = conflicting_event(*args)  # type: ignore[arg-type]
        resume()
        return found

    if paused_at == "its event":
        monkeypatch.setattr(Journal, "append", append_late)
    else:
        monkeypatch.setattr(swap_order, "conflicting_event", rival_then_pause)
    assert published.publish("again").outcome is Outcome.FAILED
    assert swap not in {event.increment for event in published.journal.events()}
    published.publish("next")
    assert published.ids() == [1, 2, 3]


def test_a_swap_that_came_after_rows_it_was_computed_without_is_withdrawn(
    published: History,
) -> None:
    swap = made_again(published, [row(20, SECOND)], partitions=days("2024-01-02"))
    published.increment([row(3, SECOND)])
    put_into_the_journal(published, 3)
    put_into_the_journal(published, swap)
    assert published.publish("next").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 3]
    assert [event.increment for event in published.journal.events()] == [1, 3]
    assert "event 2, of increment 000003" in reasons(published)[swap]
    published.increment([row(4, SECOND)])
    assert published.publish("after it").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 3, 4]
    assert [event.seq for event in published.journal.events()] == [1, 2, 4]


def test_it_is_looked_at_once_more_before_a_target_gets_it(published: History) -> None:
    swap = made_again(published, [row(20, SECOND)], partitions=days("2024-01-02"))
    published.increment([row(3, SECOND)])
    put_into_the_journal(published, 3)
    put_into_the_journal(published, swap)
    with published.run("next").hold("publish") as held:
        targets = targets_of(published.pipeline, held.epoch, print)
        run = CatchUp(held, published.snapshot, targets)
        with pytest.raises(EventOvertaken) as refused:
            run.run()
    assert (refused.value.seq, refused.value.increment) == (3, swap)
    assert published.ids() == [1, 2, 3]


def test_the_event_of_an_increment_that_a_redo_took_the_place_of_is_withdrawn(
    published: History,
) -> None:
    passed = published.increment(rows(30))
    put_into_the_journal(published, passed)
    made_again(published, rows(20), kind="redo", first=1, last=1, seq=1, supersedes=(passed,))
    later = published.increment(rows(4))
    assert published.publish("next").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 4, 20]
    assert [event.increment for event in published.journal.events()] == [1, 3, later]
    assert list(reasons(published)) == [passed]


def test_a_redo_of_what_consumers_have_seen_stands_for_nothing(published: History) -> None:
    passed = published.increment(rows(30))
    published.publish()
    redo = made_again(
        published, rows(20), kind="redo", first=1, last=1, seq=1, supersedes=(passed,)
    )
    assert published.snapshot.get(passed).state is State.PASSED
    assert published.snapshot.get(redo).state is State.SUPERSEDED
    later = published.increment(rows(4))
    assert published.publish("next").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 4, 30]
    assert [event.increment for event in published.journal.events()] == [1, passed, later]


def test_a_journal_that_such_a_redo_got_into_goes_on(
    published: History, monkeypatch: Patch
) -> None:
    passed = published.increment(rows(30))
    published.publish()
    redo = made_again(
        published, rows(20), kind="redo", first=1, last=1, seq=1, supersedes=(passed,)
    )
    put_into_the_journal(published, redo)
    later = published.increment(rows(4))
    assert published.publish("next").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 4, 30]
    assert [event.increment for event in published.journal.events()] == [1, passed, later]
    assert list(reasons(published)) == [redo]


def test_a_rebuild_that_came_too_late_is_never_live(published: History) -> None:
    replaced = rebuilt(published, rows(5), rows(6))
    path = published.layout.journal / f"{replaced.seq:06d}.json"
    # An increment got the number that it was decided on, and it got the next one.
    path.unlink()
    published.increment(rows(30))
    put_into_the_journal(published, 3)
    late = replaced.model_copy(update={"seq": 3})
    published.journal.append(late)
    (takeover,) = published.layout.generations.glob("0*.json")
    takeover.write_text(takeover.read_text().replace('"seq": 2', '"seq": 3'))
    assert current(published.layout) == "live-0001"
    assert published.publish("next").outcome is Outcome.DONE
    assert published.ids() == [1, 2, 30]
    assert list(reasons(published)) == [replaced.increment]


def test_a_list_of_files_goes_on_after_an_event_that_was_withdrawn(history: History) -> None:
    history.write_spec(more="publish: [{kind: files}]")
    history.increment([row(1), row(2, SECOND)])
    history.publish()
    swap = made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    history.increment([row(3, SECOND)])
    put_into_the_journal(history, 3)
    put_into_the_journal(history, swap)
    history.increment([row(4)])
    assert history.publish("next").outcome is Outcome.DONE
    assert [event.seq for event in history.journal.events()] == [1, 2, 4]
    assert sum(file.rows for file in files_now(history.layout)) == 4


def test_an_event_says_under_which_lease_it_was_written(published: History) -> None:
    (event,) = published.journal.events()
    assert event.epoch > 0
