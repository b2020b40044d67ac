"""Which generation is live, which are being built, and what one of these has still to read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.generations.build import begin_build, newest_builds, unfinished_builds
from tidemill.increments.exclusions import Excluded
from tidemill.increments.increments import Rejection
from tidemill.journal.journal import Event
from tidemill.journal.takeovers import Takeover, current, put_takeover, read_takeovers
from tidemill.sources.input_part import InputPart
from tidemill.sources.retention import gone, published_input, unread
from tidemill.spark_logs.offset_ranges import Range

NEW = "live-0002"


@pytest.fixture
def published(history: History) -> History:
    """Two published batches and a held one."""
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.increment(rows(0))
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), outcome="held")
    return history


def takeover(seq: int | None) -> Takeover:
    kind: Any = "fork" if seq is None else "rebuild"
    now = datetime.now(UTC)
    return Takeover(
        generation=NEW,
        kind=kind,
        predecessor="live-0001",
        first=0,
        seq=seq,
        by="ada",
        reason="r",
        born=now,
    )


def event(history: History, seq: int, kind: Any, generation: str, **changes: int) -> None:
    (one, *_) = history.journal.events()
    placed = {"seq": seq, "kind": kind, "generation": generation, "increment": 9, **changes}
    history.journal.append(Event.model_validate({**one.model_dump(), **placed}))


def test_a_rebuild_is_live_once_its_event_stands_and_never_by_another(published: History) -> None:
    layout = published.layout
    put_takeover(layout, takeover(3))
    assert current(layout) == "live-0001"
    event(published, 3, "increment", "live-0001")
    assert read_takeovers(layout.home) == []
    put_takeover(layout, takeover(4))
    event(published, 4, "replace", NEW)
    assert current(layout) == NEW


@pytest.mark.parametrize(("of_the_event", "live"), [(5, "live-0001"), (1, NEW)])
def test_between_a_fork_and_what_it_goes_on_without_the_newer_lease_decides(
    published: History, of_the_event: int, live: str
) -> None:
    fork = takeover(None).model_copy(update={"first": 2, "after": 2, "epoch": 3})
    put_takeover(published.layout, fork)
    assert current(published.layout) == NEW
    assert published.snapshot.get(3).superseded
    event(published, 3, "increment", "live-0001", first=2, last=2, epoch=of_the_event)
    assert current(published.layout) == live
    assert published.snapshot.get(3).superseded == (live == NEW)


def test_each_run_builds_its_own_and_goes_on_with_it(published: History) -> None:
    pipeline = published.pipeline
    first = begin_build(pipeline, "rebuild", "one")
    other = begin_build(pipeline, "rebuild", "two")
    assert (first.generation, other.generation) == (NEW, "live-0003")
    assert begin_build(pipeline, "rebuild", "one") == first
    assert unfinished_builds(pipeline.layout) == [first, other]


def test_code_or_exclusions_of_another_day_are_another_generation(published: History) -> None:
    first = begin_build(published.pipeline, "rebuild", "one")
    published.pipeline.transform_file.write_text("def transform(orders): return orders\n")
    second = begin_build(published.pipeline, "rebuild", "one")
    sealed = published.snapshot.get(3).sealed
    published.increments.decide(
        Rejection(
            increment=3,
            files_hash=sealed.files_hash,
            by="ada",
            reason="r",
            rejected=datetime.now(UTC),
        )
    )
    third = begin_build(published.pipeline, "rebuild", "one")
    assert len({first.generation, second.generation, third.generation}) == 3
    assert newest_builds(published.layout) == [third]


def test_what_was_published_is_known_by_file_and_so_is_what_is_gone(published: History) -> None:
    layout = published.layout
    found, _ = published_input(published.snapshot, "live-0001", Excluded())
    read = [file for batch in published.ledger.batches(last=1) for file in batch.inputs]
    assert list(found.files) == read
    # Nothing of a generation that is not there yet has read it.
    assert unread(layout, NEW, found) == found
    assert not unread(layout, "live-0001", found)
    assert not gone(published.pipeline, found)
    read[0].on_disk.unlink()
    read[1].on_disk.write_text("id,at\n7,2026-03-01\n")
    assert list(gone(published.pipeline, found).files) == read
    assert list(found.without(InputPart(files=(read[0],))).files) == [read[1]]


def test_of_a_range_that_lost_its_beginning_the_rest_is_left() -> None:
    def records(first: int, until: int) -> Range:
        return Range(topic="t", partition=0, first=first, until=until)

    wanted = InputPart(ranges={"orders": (records(10, 50),)})
    assert wanted.without(InputPart(ranges={"orders": (records(10, 30),)})) == InputPart(
        ranges={"orders": (records(30, 50),)}
    )
    assert not wanted.without(wanted)
