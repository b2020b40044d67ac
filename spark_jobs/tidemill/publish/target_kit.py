"""Checks of the promises that a target of your own must keep.

For a target of your own, with pytest:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_target_keeps_the_contract(check, subject):
        check(subject)

A publish may die at any point, and the next run offers the same event again to a fresh instance.
Neither Spark nor a pipeline is needed here.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.publish.payload import Payload, PayloadFile
from tidemill.publish.target import Event, LeaseLost, Refused
from tidemill.spec.output import OutputMode

__all__ = ["CHECKS", "PromiseBroken", "Subject"]

GENERATION = "live-0001"
EPOCH = 5


class PromiseBroken(AssertionError):
    """A target does not keep what its readers rest on."""


class BrokenOff(Exception):
    """Stands for the death of a publish in the middle of an event."""


@dataclass(frozen=True)
class Subject:
    """A target to try; each check needs an empty one.

    Args:
        kind: Its class.
        columns: The columns of the rows that it gets.
        row: Number -> a row of these columns.
        read: The numbers of all rows that its readers see.
        folder: An empty folder, for the events' files.
        keeps_head: Whether it keeps its head beside its rows; one that does not only gives its
            readers what they need to drop repeats, which `read` then must do.
    """

    kind: Callable[..., Any]
    options: Mapping[str, Any]
    columns: pa.Schema
    row: Callable[[int], Mapping[str, Any]]
    read: Callable[[], list[int]]
    folder: Path
    keeps_head: bool = True

    def open(self, epoch: int = EPOCH) -> Any:
        """The target as the next run makes it."""
        options = dict(self.options)
        return self.kind(options, pipeline="kit", epoch=epoch, say=lambda _: None)

    def event(self, number: int, *rows: int, kind: str = "increment") -> tuple[Event, Payload]:
        """The event of a number, of one batch with these rows."""
        files = []
        # One file for each row, so that an event comes in several chunks.
        for row in rows:
            path = self.folder / f"{number:06d}-{kind}-{row:06d}.parquet"
            pq.write_table(pa.Table.from_pylist([dict(self.row(row))], self.columns), path)
            files.append(PayloadFile(path, 1, number - 1, {}))
        event = Event.model_validate(
            {
                "seq": number,
                "kind": kind,
                "increment": number,
                "generation": GENERATION,
                "first": number - 1,
                "last": number - 1,
                "rows": len(rows),
                "rejected": 0,
                "files_hash": f"{kind}-{number}",
                "verdict": {},
                "release": None,
                "run_id": f"kit-{number}",
                "at": datetime.now(UTC),
                "epoch": EPOCH,
            }
        )
        mode, offsets = OutputMode.APPEND, {"kit": number}
        return event, Payload(GENERATION, self.columns, (), mode, (), tuple(files), offsets)


@dataclass(frozen=True)
class TornPayload(Payload):
    """Rows of which the last chunk does not come."""

    def read(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        yield from [*super().read()][:-1]
        raise BrokenOff


def each_event_arrives_in_order(subject: Subject) -> None:
    """Events that are offered in order, each to a fresh instance, are all there."""
    for number in (1, 2, 3):
        event, payload = subject.event(number, number, number + 10)
        _must(subject.open().find(event) is None, f"it finds event {number} before it is there")
        version = _take(subject.open(), event, payload)
        _must(isinstance(version, int), f"apply returns {version!r}, not a version as an integer")
        if subject.keeps_head:
            _must(subject.open().find(event) is not None, f"it does not find event {number}")
    _must_hold(subject, 1, 11, 2, 12, 3, 13)


def an_event_offered_again_is_there_once(subject: Subject) -> None:
    """A run that died before it noted the event offers it again."""
    for number in (1, 2):
        offered = subject.event(number, number, number + 10)
        _take(subject.open(), *offered)
        _take(subject.open(), *offered)
    _must_hold(subject, 1, 11, 2, 12)


def a_try_that_broke_off_is_made_up_for(subject: Subject) -> None:
    """Half an event is never seen; the next try makes it whole."""
    _take(subject.open(), *subject.event(1, 1))
    event, payload = subject.event(2, 2, 12, 22, 32)
    torn = TornPayload(**{name: getattr(payload, name) for name in Payload.__dataclass_fields__})
    try:
        subject.open().apply(event, torn)
    except BrokenOff:
        pass
    else:
        _broken("apply swallows the error of a payload that broke off")
    _must_hold(subject, 1)
    _must(subject.open().find(event) is None, "it finds an event of which it has a part")
    _take(subject.open(), event, payload)
    _must_hold(subject, 1, 2, 12, 22, 32)


def an_event_without_rows_moves_it_on(subject: Subject) -> None:
    """A rejected increment has no rows, and the next one follows it."""
    _take(subject.open(), *subject.event(1, 1))
    _take(subject.open(), *subject.event(2, kind="reject"))
    _take(subject.open(), *subject.event(3, 3))
    _must_hold(subject, 1, 3)


def an_event_out_of_order_is_refused(subject: Subject) -> None:
    """A target that was set back must not go on as if nothing were missing."""
    if not subject.keeps_head:
        return
    _take(subject.open(), *subject.event(1, 1))
    _must_raise(Refused, subject.open(), *subject.event(3, 3))
    _must_hold(subject, 1)


def an_older_epoch_is_fenced_out(subject: Subject) -> None:
    """A run that was thought dead writes nothing once a newer one has written."""
    if not subject.keeps_head:
        return
    older = subject.open(EPOCH)
    _take(subject.open(EPOCH + 1), *subject.event(1, 1))
    _must_raise(LeaseLost, older, *subject.event(2, 2))
    _must_hold(subject, 1)


def a_replacement_takes_the_place_of_all_rows(subject: Subject) -> None:
    """A target that says `swaps = True` gets rebuilds."""
    if not getattr(subject.kind, "swaps", False):
        return
    for number in (1, 2):
        _take(subject.open(), *subject.event(number, number))
    event, payload = subject.event(3, 30, kind="replace")
    changes: dict[str, Any] = {"first": 0, "last": 1, "generation": "live-0002"}
    replaced = event.model_copy(update=changes)
    _take(subject.open(), replaced, replace(payload, generation="live-0002"))
    _must_hold(subject, 30)


CHECKS: tuple[Callable[[Subject], None], ...] = (
    each_event_arrives_in_order,
    an_event_offered_again_is_there_once,
    a_try_that_broke_off_is_made_up_for,
    an_event_without_rows_moves_it_on,
    an_event_out_of_order_is_refused,
    an_older_epoch_is_fenced_out,
    a_replacement_takes_the_place_of_all_rows,
)


def _take(target: Any, event: Event, payload: Payload) -> Any:
    """Apply an event that the target has to take."""
    try:
        return target.apply(event, payload)
    except Exception as error:
        msg = f"event {event.seq} ({event.kind}) is not taken: {type(error).__name__}: {error}"
        raise PromiseBroken(msg) from error


def _must_hold(subject: Subject, *numbers: int) -> None:
    found, due = Counter(subject.read()), Counter(numbers)
    lost, more = sorted((due - found).elements()), sorted((found - due).elements())
    _must(not lost, f"rows are missing: {lost}")
    _must(not more, f"rows are there twice, or should not be there: {more}")


def _must_raise(error: type[Exception], target: Any, event: Event, payload: Payload) -> None:
    try:
        target.apply(event, payload)
    except error:
        return
    except Exception as other:
        msg = f"event {event.seq} raises {type(other).__name__}, not {error.__name__}"
        raise PromiseBroken(msg) from other
    _broken(f"event {event.seq} is taken, and should raise {error.__name__}")


def _must(kept: bool, broken: str) -> None:
    if not kept:
        _broken(broken)


def _broken(what: str) -> None:
    raise PromiseBroken(what)
