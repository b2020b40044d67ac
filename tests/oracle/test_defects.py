"""The oracle finds what is planted: six defects, each under a history that is else played well."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.contract.event_time import EventTime
from spark_jobs.contract.spec import Spec
from spark_jobs.engine import ingest
from spark_jobs.ledger.increments import Increments
from spark_jobs.publish import rejected
from spark_jobs.publish.delta_target import DeltaTarget
from spark_jobs.publish.payload import Payload
from spark_jobs.publish.turn import Turn
from spark_jobs.steps import publish
from tests.oracle.cases import CASES
from tests.oracle.history import Arrive, Change, Event, Go, Kill, LetOut
from tests.oracle.kind import said
from tests.oracle.play import Play
from tests.oracle.promise import Broken
from tests.oracle.shipped import Shipped

pytestmark = pytest.mark.jvm

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
    let_out, in_order = publish._let_out, Increments.in_order

    def whatever_has_passed(*args: Any) -> None:
        with Patch.context() as inside:
            passed = lambda found: [one for one in in_order(found) if one.may_go_out]  # noqa: E731
            inside.setattr(Increments, "in_order", passed)
            let_out(*args)

    patch.setattr(publish, "_let_out", whatever_has_passed)
    patch.setattr(Turn, "check", lambda *_: None)


def lose_a_rejected_row(patch: Patch) -> None:
    reject_rows = rejected.reject_rows

    def all_but_one(*args: Any) -> pa.StructArray:
        return reject_rows(*args)[1:]

    patch.setattr(rejected, "reject_rows", all_but_one)


def keep_the_first_static_side(patch: Patch) -> None:
    first: dict[str, Any] = {}
    pin_statics = ingest.pin_statics

    def once(pipeline: Any) -> Any:
        return first.setdefault(pipeline.name, pin_statics(pipeline))

    patch.setattr(ingest, "pin_statics", once)


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


@pytest.mark.parametrize("name", HISTORIES)
def test_without_it_the_same_history_holds(name: str, tmp_path: Path, spark: object) -> None:
    play(name, tmp_path)
