"""Static inputs: what a stream is joined with is pinned per batch, whatever becomes of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.steps.read_only.preview import preview

JOINED = """
def transform(clicks, ads):
    return clicks.join(ads, "ad", "left").select("click", "ad", "price")
"""

# As after a driver that was killed between the plan of its batch and its end.
POISON = """

fixed = transform


def transform(clicks, ads):
    from pyspark.sql import functions as F

    poison = F.when(F.col("click") == 2, F.raise_error(F.lit("poison")))
    return fixed(clicks.where(poison.isNull()), ads)
"""
POISONED = JOINED + POISON
REVENUE = """
from pyspark.sql import functions as F


def transform(clicks, ads):
    window = F.window("at", "10 minutes")
    return clicks.join(ads, "ad").groupBy(window).agg(F.sum("price").alias("revenue"))
"""
OFFERS = "def transform(offers):\n    return offers\n"


def flow_of(
    home: Path,
    transform: str = JOINED,
    *,
    spec: dict[str, Any] | None = None,
    columns: str = "click int, ad string",
    **static: Any,
) -> JsonPipeline:
    (home / "ads").mkdir()
    ads = {
        "kind": "file",
        "format": "json",
        "path": str(home / "ads"),
        "schema": "ad string, price int",
        **static,
    }
    return JsonPipeline(
        home, {"clicks": columns}, {**(spec or {}), "statics": {"ads": ads}}, transform
    )


def price(home: Path, ad: str, price: int) -> Path:
    """Put the price of an ad in place of its old one."""
    path = home / "ads" / f"{ad}.json"
    draft = home / "draft"
    draft.write_text(json.dumps({"ad": ad, "price": price}))
    if path.exists():
        later = path.stat().st_mtime_ns + 2_000_000
        os.utime(draft, ns=(later, later))
    return draft.replace(path)


def click(number: int, ad: str = "tide") -> dict[str, Any]:
    return {"click": number, "ad": ad}


def timed(number: int, time: str) -> dict[str, Any]:
    return {**click(number), "at": f"2026-03-01T{time}:00Z"}


def copies(flow: JsonPipeline) -> int:
    return len([*(flow.layout.statics / "ads").iterdir()])


def test_new_batches_get_the_new_side_and_old_rows_stay_as_they_were(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path, broadcast=True, persist=True)
    price(tmp_path, "tide", 10)
    flow.arrive("clicks", "a", [click(1), click(2, "mill")])
    flow.go("first")
    price(tmp_path, "tide", 20)
    price(tmp_path, "mill", 5)
    flow.arrive("clicks", "b", [click(3), click(4, "mill")])
    flow.go("second")
    assert flow.published("click", "price") == [(1, 10), (2, None), (3, 20), (4, 5)]
    first, second = flow.batches
    assert [len(batch.static["ads"].files) for batch in (first, second)] == [1, 2]
    assert copies(flow) == 2


def test_a_planned_batch_runs_again_with_its_own_side_and_what_follows_with_the_new_one(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path)
    price(tmp_path, "tide", 10)
    flow.arrive("clicks", "a", [click(1)])
    flow.go("first")
    # As after a driver that was killed between the plan of its batch and its end.
    flow.arrive("clicks", "b", [click(2)])
    price(tmp_path, "tide", 20)
    flow.write(POISONED)
    assert flow.run("second")["ingest"].outcome is Outcome.FAILED
    assert (flow.layout.checkpoint(FIRST_GENERATION) / "offsets" / "1").exists()
    flow.arrive("clicks", "c", [click(3)])
    price(tmp_path, "tide", 30)
    flow.write(JOINED)
    flow.go("third")
    assert flow.published("click", "price") == [(1, 10), (2, 20), (3, 30)]
    sides = [batch.static["ads"] for batch in flow.batches]
    assert len({pin.identity for pin in sides}) == 3


def test_what_a_window_kept_of_an_old_side_is_closed_with_it(tmp_path: Path, spark: object) -> None:
    flow = flow_of(
        tmp_path,
        REVENUE,
        spec={"event_time": {"column": "at", "watermark": "0 seconds"}},
        columns="click int, ad string, at timestamp",
    )
    price(tmp_path, "tide", 10)
    flow.arrive("clicks", "a", [timed(1, "12:01")])
    flow.go("first")
    flow.arrive("clicks", "b", [timed(2, "12:02")])
    price(tmp_path, "tide", 20)
    flow.write(REVENUE + POISON)
    assert flow.run("second")["ingest"].outcome is Outcome.FAILED
    flow.arrive("clicks", "c", [timed(3, "12:21")])
    price(tmp_path, "tide", 40)
    flow.write(REVENUE)
    flow.go("third")
    assert flow.published("revenue") == [(30,)]


def test_the_state_of_a_batch_that_is_written_already_is_made_of_its_own_side(
    tmp_path: Path, spark: object
) -> None:
    spec = {"event_time": {"column": "at", "watermark": "0 seconds"}}
    columns = "click int, ad string, at timestamp"
    flow = flow_of(tmp_path, REVENUE, spec=spec, columns=columns)
    price(tmp_path, "tide", 10)
    flow.arrive("clicks", "a", [timed(1, "12:02")])
    flow.go("first")
    # It moves no watermark, so that no batch follows it.
    flow.arrive("clicks", "b", [timed(2, "12:01")])
    price(tmp_path, "tide", 20)
    assert flow.step("ingest", "killed").outcome is Outcome.DONE
    # As after a kill between the sink's log and the checkpoint's commit.
    last = flow.batches[-1].batch
    commits = flow.layout.checkpoint(FIRST_GENERATION) / "commits"
    for file in (commits / str(last), commits / f".{last}.crc"):
        file.unlink()
    (flow.layout.ledger(FIRST_GENERATION) / f"{last:06d}.json").unlink()
    assert (flow.layout.sink(FIRST_GENERATION) / "_spark_metadata" / str(last)).exists()
    flow.arrive("clicks", "c", [timed(3, "12:21")])
    price(tmp_path, "tide", 40)
    flow.go("third")
    assert flow.published("revenue") == [(30,)]


def test_a_lost_copy_is_refused_by_its_name_and_only_where_it_is_needed(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path)
    price(tmp_path, "tide", 10)
    flow.arrive("clicks", "a", [click(2)])
    flow.write(POISONED)
    assert flow.run("first")["ingest"].outcome is Outcome.FAILED
    (copy,) = (flow.layout.statics / "ads").glob("*/tide.json")
    copy.unlink()
    flow.write(JOINED)
    # What it was a copy of is still the same.
    flow.go("second")
    assert flow.published("click", "price") == [(2, 10)]
    flow.arrive("clicks", "b", [click(3)])
    flow.write(POISONED.replace("2", "3"))
    assert flow.run("third")["ingest"].outcome is Outcome.FAILED
    (copy,) = (flow.layout.statics / "ads").glob("*/tide.json")
    copy.unlink()
    price(tmp_path, "tide", 20)
    refused = flow.run("fourth")["ingest"]
    assert refused.outcome is Outcome.REFUSED
    assert refused.error is not None
    assert refused.error["data"]["file"] == str(copy)


def test_the_published_table_of_another_pipeline_is_read_at_a_version(
    tmp_path: Path, spark: object
) -> None:
    ads = JsonPipeline(tmp_path / "ads", {"offers": "ad string, price int"}, {}, OFFERS, name="ads")
    ads.arrive("offers", "a", [{"ad": "tide", "price": 10}])
    ads.go("first")
    spec = {"statics": {"ads": {"kind": "table", "pipeline": "ads"}}}
    (tmp_path / "root").symlink_to(ads.layout.root)
    flow = JsonPipeline(tmp_path, {"clicks": "click int, ad string"}, spec, JOINED)
    flow.arrive("clicks", "a", [click(1)])
    flow.go("first")
    ads.arrive("offers", "b", [{"ad": "mill", "price": 7}])
    ads.go("second")
    flow.arrive("clicks", "b", [click(2, "mill"), click(3)])
    flow.go("second")
    assert flow.published("click", "price") == [(1, 10), (2, 7), (3, 10)]
    assert [batch.static["ads"].version for batch in flow.batches] == [0, 1]


def test_a_static_input_that_is_not_there_is_refused_before_anything_is_planned(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path)
    flow.arrive("clicks", "a", [click(1)])
    refused = flow.run("first")["ingest"]
    assert refused.outcome is Outcome.REFUSED
    assert refused.error is not None
    assert refused.error["data"]["static"] == "ads"
    assert not (flow.layout.checkpoint(FIRST_GENERATION) / "offsets").exists()


def test_a_preview_reads_them_as_they_are_now_and_leaves_no_copy(
    tmp_path: Path, spark: object
) -> None:
    flow = flow_of(tmp_path)
    price(tmp_path, "tide", 10)
    sample = flow.arrive("clicks", "a", [click(1), click(2, "mill")])
    found = preview(flow.name, [sample], 10, lambda _: None, flow.environ)
    assert [(row["click"], row["price"]) for row in found.good] == [(1, 10), (2, None)]
    assert not flow.layout.statics.exists()
