"""The oracle finds what is planted: defects, each under a history that is else played well."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.oracle.cases import CASES
from tests.oracle.decision_histories import lines as lines_of
from tests.oracle.decision_histories import reports as reports_of
from tests.oracle.decisions import Ask, Edit, Resume
from tests.oracle.history import Arrive, Change, Event, Go, Kill, LetOut
from tests.oracle.pipeline_inputs import said
from tests.oracle.play import Play
from tests.oracle.play_decisions import asking
from tests.oracle.promise import Broken
from tests.oracle.shipped import Shipped
from tidemill.engine.recompute import recompute, strategy
from tidemill.engine.run import ingest
from tidemill.file_formats.parquet import Parquet
from tidemill.increments import swap_order
from tidemill.increments.exclusions import Excluded
from tidemill.increments.increment import State
from tidemill.increments.snapshot import Snapshot
from tidemill.publish.delta.position import DeltaPosition
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.payload import Payload
from tidemill.publish.rejected import table as rejected
from tidemill.publish.rejected.remaining import Rest
from tidemill.spec.event_time import EventTime
from tidemill.spec.spec import Spec
from tidemill.steps.parts.journal_entries import Entries

# One begins every five minutes.
WINDOW = timedelta(minutes=5)
Patch = pytest.MonkeyPatch


def reports(*signals: int) -> Arrive:
    rows = [{"at": said(n), "device": "a", "type": "pump", "signal": f"{n}"} for n in signals]
    return Arrive("reports", (*rows, "{torn"))


def lines(*minutes: int) -> Arrive:
    return Arrive("lines", tuple({"at": said(minute), "text": "tide"} for minute in minutes))


def price(of_a: str) -> Change:
    header = "ad,campaign,price"
    return Change("click_revenue/impressions/i.csv", (header, f"a,spring,{of_a}"))


CLICK = Arrive("clicks", ({"at": said(1), "click": "1", "ad": "a"},))
HISTORIES: dict[str, tuple[Event, ...]] = {
    # Two batches; an increment that is held; one that waits behind it.
    "device_signals": (
        *(reports(11), reports(12), reports(13), Go()),
        *(reports(14), Go(strict=True), reports(15), Go(), LetOut(everything=True)),
    ),
    "windowed_words": (lines(0, 20), Go(), lines(4, 40), Go()),
    # The batch that was cut short runs again with the price of then.
    "click_revenue": (
        *(price("1.50"), CLICK, Go(kill=Kill.SINK, retried=False)),
        *(price("1.75"), CLICK, Go(), CLICK, Go()),
    ),
}


def lose_a_batch(patch: Patch) -> None:
    adds = DeltaTarget._adds

    def all_but_the_last(target: DeltaTarget, schema: Any, payload: Payload) -> Any:
        last = max(file.batch for file in payload.files)
        files = tuple(file for file in payload.files if file.batch != last)
        return adds(target, schema, replace(payload, files=files))

    patch.setattr(DeltaTarget, "_adds", all_but_the_last)


def double_a_batch(patch: Patch) -> None:
    adds = DeltaTarget._adds

    def the_last_again(target: DeltaTarget, schema: Any, payload: Payload) -> Any:
        last = max(file.batch for file in payload.files)
        files = [replace(f, path=_copy(f.path)) for f in payload.files if f.batch == last]
        return adds(target, schema, replace(payload, files=(*payload.files, *files)))

    patch.setattr(DeltaTarget, "_adds", the_last_again)


def _copy(path: Path) -> Path:
    return Path(shutil.copy(path, path.with_name(f"again-{path.name}")))


def delay_the_watermark_by_a_window(patch: Patch) -> None:
    event_time_of = Spec.event_time_of

    def later(spec: Spec, source: str) -> EventTime | None:
        time = event_time_of(spec, source)
        if time is None or time.watermark is None:
            return time
        return time.model_copy(update={"watermark": time.watermark + WINDOW})

    patch.setattr(Spec, "event_time_of", later)


def publish_out_of_order(patch: Patch) -> None:
    append_passed, waiting = Entries.append_passed, Snapshot.waiting

    def whatever_has_passed(entries: Entries) -> None:
        with Patch.context() as inside:
            passed = lambda found: [one for one in waiting(found) if one.may_go_out]  # noqa: E731
            inside.setattr(Snapshot, "waiting", passed)
            append_passed(entries)

    patch.setattr(Entries, "append_passed", whatever_has_passed)
    patch.setattr(DeltaPosition, "check", lambda *_: None)


def lose_a_rejected_row(patch: Patch) -> None:
    rejects = Parquet.rejects

    def all_but_one(*args: Any) -> pa.StructArray:
        return rejects(*args)[1:]

    patch.setattr(Parquet, "rejects", all_but_one)


def keep_the_first_static_side(patch: Patch) -> None:
    first: dict[str, Any] = {}
    pin_statics = ingest.pin_statics

    def once(pipeline: Any, **options: Any) -> Any:
        return first.setdefault(pipeline.name, pin_statics(pipeline, **options))

    patch.setattr(ingest, "pin_statics", once)


def ignore_rule_s(patch: Patch) -> None:
    patch.setattr(swap_order, "conflicting_event", lambda *_: None)


def count_what_was_rejected(patch: Patch) -> None:
    patch.setattr(recompute, "without", lambda *_: Excluded())


def forget_a_batch_of_the_tail(patch: Patch) -> None:
    reads_of = recompute.reads_of

    def all_but_the_last(*args: Any) -> Any:
        first, reads = args[2], reads_of(*args)
        # A redo is the only one that does not begin at the beginning.
        return reads[:-1] if first else reads

    patch.setattr(recompute, "reads_of", all_but_the_last)


def leave_the_rejected_rows(patch: Patch) -> None:
    patch.setattr(rejected, "rest_of", lambda *_: Rest())


def compute_windows_that_are_open(patch: Patch) -> None:
    patch.setattr(strategy, "refuse_not_final", lambda *_: None)


def answer_with_what_was_rejected(patch: Patch) -> None:
    given_up = (State.REJECTED, State.SUPERSEDED)
    patch.setattr(State, "without_rows", property(lambda state: state in given_up))


# Each ends with what one defect spoils.
WISHES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "overtaken": (
        "device_signals",
        (
            *(reports_of((0, "a", "25")), Go(), Edit(code=True)),
            *(Ask("backfill", steps=3), reports_of((1, "a", "31")), Go(), Resume()),
        ),
    ),
    "decided": (
        "device_signals",
        (
            *(reports_of((0, "a", "11"), (1, "b", "30")), Go(), reports_of((1, "a", "12"))),
            *(Go(strict=True), Ask("reject"), reports_of((2, "a", "31"), (2, "b", "31"))),
            *(reports_of((3, "a", "32")), reports_of((4, "a", "33")), Go(strict=True)),
            *(Edit(code=True), Ask("redo"), Edit(code=True, rule=True), Ask("backfill")),
            *(Edit(rule=True), Ask("backfill")),
        ),
    ),
    "given up": (
        "device_signals",
        (
            *(reports_of((0, "a", "11")), Go(), Edit(code=True), Ask("backfill", strict=True)),
            *(Ask("reject"), Ask("backfill")),
        ),
    ),
    "open": ("windowed_words", (lines_of((0, "tide"), (40, "mill")), Go(), Ask("backfill"))),
}


def play(name: str, home: Path) -> None:
    Play(Shipped(home, shipped=name), CASES[name].kind, CASES[name].model).play(HISTORIES[name])


@pytest.mark.parametrize(
    ("plant", "name", "what"),
    [
        (lose_a_batch, "device_signals", "rows"),
        (double_a_batch, "device_signals", "rows"),
        (delay_the_watermark_by_a_window, "windowed_words", "watermarks"),
        (publish_out_of_order, "device_signals", "rows"),
        (lose_a_rejected_row, "device_signals", "rejected"),
        (keep_the_first_static_side, "click_revenue", "rows"),
    ],
)
def test_a_planted_defect_is_found(
    plant: Callable[[Patch], None],
    name: str,
    what: str,
    tmp_path: Path,
    spark: object,
    monkeypatch: Patch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(Broken) as broken:
        play(name, tmp_path)
    assert broken.value.what == what


@pytest.mark.parametrize(
    ("plant", "history", "what"),
    [
        (ignore_rule_s, "overtaken", "rows"),
        (count_what_was_rejected, "decided", "rows"),
        (forget_a_batch_of_the_tail, "decided", "rows"),
        (leave_the_rejected_rows, "decided", "rejected"),
        (compute_windows_that_are_open, "open", "rows"),
        (answer_with_what_was_rejected, "given up", "answers"),
    ],
)
def test_a_planted_defect_in_what_is_asked_for_is_found(
    plant: Callable[[Patch], None],
    history: str,
    what: str,
    tmp_path: Path,
    spark: object,
    monkeypatch: Patch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(Broken) as broken:
        asking(WISHES[history][0], tmp_path, WISHES[history][1])
    assert broken.value.what == what


@pytest.mark.parametrize("history", WISHES)
def test_without_it_the_same_wishes_hold(history: str, tmp_path: Path, spark: object) -> None:
    name, events = WISHES[history]
    asking(name, tmp_path, events)


@pytest.mark.parametrize("name", HISTORIES)
def test_without_it_the_same_history_holds(name: str, tmp_path: Path, spark: object) -> None:
    play(name, tmp_path)
