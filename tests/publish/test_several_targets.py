"""Several targets: each goes through the journal from its own head, and none waits for another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import rebuilt
from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.errors import LeaseLost, Refused, TidemillError, TransientError
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Event
from tidemill.journal.published_files import files_now
from tidemill.publish.catch_up import CatchUp
from tidemill.publish.files_target import FilesTarget
from tidemill.publish.payload import Payload
from tidemill.publish.target import Target
from tidemill.publish.target_heads import verify_tables
from tidemill.storage.lease import Lease


@dataclass
class Shelf:
    """A target in memory that fails when it is told to.

    Args:
        name: As in the journal.
        fails: Increment -> what applying it raises.
        forgets: Whether it cannot tell what it has, as a Kafka topic cannot.
    """

    name: str
    fails: dict[int, TidemillError] = field(default_factory=dict)
    forgets: bool = False
    events: list[Event] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def find(self, event: Event) -> int | None:
        known = event in self.events and not self.forgets
        return event.seq if known else None

    def apply(self, event: Event, payload: Payload) -> int:
        if event.increment in self.fails:
            raise self.fails[event.increment]
        self.events.append(event)
        self.rows += [n for _, chunk in payload.read() for n in chunk.column("id").to_pylist()]
        return event.seq


def unreachable() -> TransientError:
    return TransientError("It is down.", remedy="Wait.")


def refusing() -> Refused:
    return Refused("No.", remedy="Mend it.")


def refuse(*_: object) -> None:
    raise refusing()


@pytest.fixture
def history(history: History) -> History:
    """Three increments in the journal, of which no target has applied any."""
    for number in (1, 2, 3):
        history.increment(rows(number), [reject(f"bad {number}")])
    history.publish()
    for number in (1, 2, 3):
        (history.layout.journal / f"{number:06d}.delta.json").unlink()
    return history


def catch_up(history: History, *shelves: Target) -> list[tuple[int, str]]:
    held = history.run("run").holding(Lease(history.layout.lease, 99))
    run = CatchUp(held, history.snapshot, shelves)
    return [(event.increment, applied.target) for event, applied in run.run()]


def test_the_head_target_goes_first_event_by_event(history: History) -> None:
    head, other = Shelf("head"), Shelf("other")
    expected = [(number, name) for number in (1, 2, 3) for name in ("head", "other")]
    assert catch_up(history, head, other) == expected
    assert head.rows == other.rows == [1, 2, 3]
    assert {one.target for one in history.journal.published().values()} == {"head"}


def test_a_second_run_applies_nothing(history: History) -> None:
    head, other = Shelf("head"), Shelf("other")
    catch_up(history, head, other)
    assert catch_up(history, head, other) == []
    assert other.rows == [1, 2, 3]


def test_a_further_target_that_fails_waits_where_it_is_and_stops_no_other(
    history: History,
) -> None:
    head, down, other = Shelf("head"), Shelf("down", {2: unreachable()}), Shelf("other")
    with pytest.raises(TransientError):
        catch_up(history, head, down, other)
    assert (head.rows, down.rows, other.rows) == ([1, 2, 3], [1], [1, 2, 3])
    assert history.journal.behind("down") == [2, 3]
    assert sorted(history.journal.published()) == [1, 2, 3]
    down.fails.clear()
    assert catch_up(history, head, down, other) == [(2, "down"), (3, "down")]
    assert down.rows == [1, 2, 3]


def test_nothing_goes_where_the_head_target_is_not(history: History) -> None:
    head, other = Shelf("head", {2: unreachable()}), Shelf("other")
    with pytest.raises(TransientError):
        catch_up(history, head, other)
    assert (head.rows, other.rows) == ([1], [1])


def test_a_lagging_target_catches_up_to_the_head_while_the_head_fails(history: History) -> None:
    head, other = Shelf("head", {3: unreachable()}), Shelf("other", {1: unreachable()})
    with pytest.raises(TransientError):
        catch_up(history, head, other)
    other.fails.clear()
    with pytest.raises(TransientError):
        catch_up(history, head, other)
    assert (head.rows, other.rows) == ([1, 2], [1, 2])


def test_of_several_errors_the_one_that_needs_a_person_is_raised(history: History) -> None:
    shelves = [Shelf("head"), Shelf("down", {1: unreachable()}), Shelf("odd", {3: refusing()})]
    with pytest.raises(Refused):
        catch_up(history, *shelves)
    assert [shelf.rows for shelf in shelves] == [[1, 2, 3], [], [1, 2]]


def test_a_target_that_is_named_later_gets_everything_from_the_beginning(history: History) -> None:
    catch_up(history, Shelf("head"))
    late = Shelf("late")
    assert catch_up(history, Shelf("head"), late) == [(n, "late") for n in (1, 2, 3)]
    assert late.rows == [1, 2, 3]


def test_a_target_that_is_named_no_more_is_no_work(history: History) -> None:
    with pytest.raises(TransientError):
        catch_up(history, Shelf("head"), Shelf("gone", {1: unreachable()}))
    assert catch_up(history, Shelf("head")) == []


def test_what_a_target_has_and_the_journal_does_not_know_is_applied_once(history: History) -> None:
    head = Shelf("head")
    catch_up(history, head)
    (history.layout.journal / "000003.head.json").unlink()
    # Asked first, it needs no file of the event; these may be compacted away.
    for file in history.files(2):
        file.unlink()
    assert catch_up(history, head) == [(3, "head")]
    assert head.rows == [1, 2, 3]


def test_a_target_without_a_memory_gets_it_again(history: History) -> None:
    head, topic = Shelf("head"), Shelf("topic", forgets=True)
    catch_up(history, head, topic)
    (history.layout.journal / "000003.topic.json").unlink()
    catch_up(history, head, topic)
    assert topic.rows == [1, 2, 3, 3]


def test_a_target_that_is_fenced_out_is_an_error_of_the_step(history: History) -> None:
    lost = LeaseLost("Newer.", remedy="Nothing.", epoch=1, newer=2)
    with pytest.raises(LeaseLost):
        catch_up(history, Shelf("head"), Shelf("other", {1: lost}))


def test_rejected_rows_are_kept_whatever_the_head_target_is(history: History) -> None:
    shutil.rmtree(history.layout.rejected)
    catch_up(history, Shelf("head"), Shelf("other"))
    assert history.records() == ["bad 1", "bad 2", "bad 3"]


def test_a_rebuild_leads_past_what_a_further_target_can_never_take(history: History) -> None:
    head, stuck = Shelf("head"), Shelf("stuck", {2: refusing()})
    with pytest.raises(Refused) as refused:
        catch_up(history, head, stuck)
    assert "tidemill rebuild orders" in refused.value.remedy
    rebuilt(history, [row(10)], [row(20)])
    (history.layout.journal / "000004.delta.json").unlink(missing_ok=True)
    assert catch_up(history, head, stuck) == [(4, "head"), (4, "stuck")]
    assert (stuck.rows, history.journal.behind("stuck")) == ([1, 10, 20], [])
    assert catch_up(history, head, stuck) == []


def test_a_list_of_files_goes_on_with_a_rebuild(
    make_history: Callable[..., History], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = make_history(more="publish: [{kind: delta}, {kind: files}]")
    history.increment([row(1)])
    history.publish()
    history.increment([row(2)])
    with monkeypatch.context() as patch:
        patch.setattr(FilesTarget, "_list", refuse)
        assert history.publish().outcome is Outcome.REFUSED
    rebuilt(history, [row(10)], [row(20)])
    assert history.publish("rebuild").outcome is Outcome.DONE
    listed = {history.layout.home / file.path for file in files_now(history.layout)}
    assert len(listed) == 2
    assert {file.name for file in listed} == {Path(p).name for p in history.delta().file_uris()}
    verify_tables(history.pipeline)
