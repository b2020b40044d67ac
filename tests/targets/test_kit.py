"""The kit finds each way of breaking a target's promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidemill.publish import target_kit as kit
from tidemill.publish.target import Event, LeaseLost, NotOurTurn, Payload
from tidemill.publish.target_kit import CHECKS, PromiseBroken, Subject

Check = Callable[[Subject], None]
COLUMNS = pa.schema([("id", pa.int64())])


class Shelf:
    """Keeps rows and head in one JSON file, and every promise."""

    swaps = True

    def __init__(self, options: Mapping[str, Any], *, epoch: int, **_: object) -> None:
        self.path = Path(options["path"])
        self.epoch = epoch

    def load(self) -> dict[str, Any]:
        empty = {"rows": [], "seq": 0, "last": -1, "epoch": 0}
        return json.loads(self.path.read_text()) if self.path.exists() else empty

    def find(self, event: Event) -> int | None:
        return event.seq if event.seq <= self.load()["seq"] else None

    def apply(self, event: Event, payload: Payload) -> int:
        kept = self.load()
        self.compare(kept, event)
        if event.seq > kept["seq"]:
            rows = [one for _, chunk in payload.read() for one in chunk["id"].to_pylist()]
            before = [] if event.kind == "replace" else kept["rows"]
            moved = {"seq": event.seq, "last": event.last, "epoch": self.epoch}
            self.path.write_text(json.dumps({"rows": [*before, *rows], **moved}))
        return event.seq

    def compare(self, kept: dict[str, Any], event: Event) -> None:
        if kept["epoch"] > self.epoch:
            raise LeaseLost("Newer.", remedy="Wait.", epoch=self.epoch, newer=kept["epoch"])
        if event.seq > kept["seq"] and event.in_order and event.first != kept["last"] + 1:
            raise NotOurTurn("No.", remedy="Wait.", head=kept["last"], first=event.first)


class Forgetful(Shelf):
    def find(self, event: Event) -> int | None:
        return None


class Doubling(Shelf):
    def load(self) -> dict[str, Any]:
        return {**super().load(), "seq": 0}


class Swallowing(Shelf):
    def apply(self, event: Event, payload: Payload) -> int:
        try:
            return super().apply(event, payload)
        except kit.BrokenOff:
            return event.seq


class Piecemeal(Shelf):
    """Shows rows before the event is whole."""

    def apply(self, event: Event, payload: Payload) -> int:
        kept = self.load()
        self.compare(kept, event)
        if event.seq > kept["seq"]:
            for _, chunk in payload.read():
                kept["rows"] += chunk["id"].to_pylist()
                self.path.write_text(json.dumps(kept))
        return super().apply(event, payload)


class Stuck(Shelf):
    """Does not note an event without rows."""

    def apply(self, event: Event, payload: Payload) -> int:
        return super().apply(event, payload) if payload.files else event.seq


class Careless(Shelf):
    def compare(self, kept: dict[str, Any], event: Event) -> None:
        """Take whatever comes, from whoever comes."""


class Appending(Shelf):
    def apply(self, event: Event, payload: Payload) -> int:
        return super().apply(event.model_copy(update={"kind": "swap"}), payload)


def subject_of(home: Path, kind: type[Shelf]) -> Subject:
    path = home / "shelf.json"
    options = {"path": str(path)}

    def read() -> list[int]:
        return Shelf(options, epoch=0).load()["rows"]

    return Subject(kind, options, COLUMNS, lambda number: {"id": number}, read, home)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_target_that_keeps_its_promises_passes(tmp_path: Path, check: Check) -> None:
    check(subject_of(tmp_path, Shelf))


BROKEN: list[tuple[type[Shelf], Check]] = [
    (Forgetful, kit.each_event_arrives_in_order),
    (Doubling, kit.an_event_offered_again_is_there_once),
    (Swallowing, kit.a_try_that_broke_off_is_made_up_for),
    (Piecemeal, kit.a_try_that_broke_off_is_made_up_for),
    (Stuck, kit.an_event_without_rows_moves_it_on),
    (Careless, kit.an_event_out_of_order_is_refused),
    (Careless, kit.an_older_epoch_is_fenced_out),
    (Appending, kit.a_replacement_takes_the_place_of_all_rows),
]


@pytest.mark.parametrize(("kind", "check"), BROKEN)
def test_each_check_finds_the_target_that_breaks_it(
    tmp_path: Path, kind: type[Shelf], check: Check
) -> None:
    with pytest.raises(PromiseBroken):
        check(subject_of(tmp_path, kind))


def test_every_check_has_a_target_that_breaks_it() -> None:
    assert {check for _, check in BROKEN} == {*CHECKS}
