"""Rows of a person leave pipelines with state: their input is read again without them."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from tests.support.iceberg_catalogue import Catalogue
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tidemill.cli.app import app
from tidemill.file_formats.delta_table import open_table
from tidemill.generations.build import GenerationBuild
from tidemill.journal.takeovers import current
from tidemill.steps.decisions.build_generation import fill_generation
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.erasures import ErasureUnfinished
from tidemill.storage.run_context import RunContext

PERSON = "ann@example.org"
OTHERS = ("bob@example.org", "cleo@example.org")
INTERRUPTED = 130
WHERE = ("--where", f"customer = '{PERSON}'")
WHY = ("--reason", "a request", "--apply")

TOTALS = """
from pyspark.sql import functions as F


def transform(orders):
    window = F.window("at", "10 minutes")
    totals = orders.groupBy(window, "customer").agg(F.sum("amount").alias("total"))
    return totals.select("window", "customer", "total")
"""
ALL = """
from pyspark.sql import functions as F


def transform(orders):
    return orders.groupBy("shop").agg(F.sum("amount").alias("total"))
"""
JOIN = """
from pyspark.sql import functions as F


def transform(orders, clicks):
    clicks = clicks.select(F.col("customer").alias("who"), F.col("at").alias("seen"), "page")
    near = F.expr("who = customer AND seen BETWEEN at - INTERVAL 5 MINUTES AND at")
    return orders.join(clicks, near).select("customer", "page", "amount", "at")
"""
COLUMNS = "at timestamp, customer string, shop string, amount long"
TIME = {"column": "at", "watermark": "10 minutes"}


def order(time: str, customer: str, amount: int, shop: str = "x") -> dict[str, Any]:
    at = f"2026-03-01T{time}:00Z"
    return {"at": at, "customer": customer, "shop": shop, "amount": amount}


def told(flow: RunnablePipeline, *words: str, code: int = 0) -> Any:
    answer = CliRunner().invoke(app, [*words, "--json"], env=flow.environ, catch_exceptions=False)
    assert answer.exit_code == code, answer.output
    return json.loads(answer.stdout) if code == 0 else None


def holding(home: Path, text: str = PERSON) -> list[Path]:
    """The files below a folder that hold a text, in Parquet's values or as bytes."""
    found = []
    for path in sorted(home.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            held = text.encode() in content
            if path.suffix == ".parquet":
                held |= text in str(pq.read_table(io.BytesIO(content)).to_pylist())
            found += [path] if held else []
    return found


def windowed(rows: Sequence[dict[str, Any]], until: str = "24:00") -> list[tuple[str, str, int]]:
    """The totals of windows of ten minutes, by plain Python."""
    totals: Counter[tuple[str, str]] = Counter()
    for row in rows:
        totals[row["at"][11:15] + "0", row["customer"]] += row["amount"]
    return sorted((*key, total) for key, total in totals.items() if key[0] < until)


def totals(flow: JsonPipeline) -> list[tuple[str, str, int]]:
    found = flow.published("window", "customer", "total")
    return sorted((f"{window['start']:%H:%M}", who, total) for window, who, total in found)


def without_person(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["customer"] != PERSON]


def fill_and_die(run: RunContext, built: GenerationBuild) -> None:
    fill_generation(run, built)
    raise KeyboardInterrupt


def doctored(flow: JsonPipeline) -> None:
    run = RunContext(flow.pipeline, "last", lambda _: None)
    assert perform("doctor", doctor, run).error is None


def totals_of(home: Path) -> JsonPipeline:
    output = {"mode": "update", "keys": ["window", "customer"]}
    spec = {"event_time": TIME, "output": output, "gate": {"rejected": {"hold_above": 0.9}}}
    return JsonPipeline(home, {"orders": COLUMNS}, spec, TOTALS)


def test_totals_of_mode_update_are_as_if_the_person_had_never_been_there(
    tmp_path: Path, spark: object
) -> None:
    flow, catalogue = totals_of(tmp_path), Catalogue(tmp_path / "catalogue")
    catalogue.home.mkdir()
    flow.write(publish=[{"kind": "delta"}, yaml.safe_load(catalogue.target)])
    assert_totals_lose_the_person(flow)
    shown = catalogue.table().scan().to_arrow().to_pylist()
    found = [(f"{one['window']['start']:%H:%M}", one["customer"], one["total"]) for one in shown]
    assert sorted(found) == totals(flow)
    assert holding(catalogue.home) == []


def assert_totals_lose_the_person(flow: JsonPipeline) -> None:
    """Let totals take in rows of a person and of others, and erase the person."""
    # The last of the person's moves the watermark, by which the next order is late.
    days = [
        [order("12:01", PERSON, 1), order("12:03", OTHERS[0], 2), order("12:04", OTHERS[1], 4)],
        [order("12:05", OTHERS[0], 8), order("12:59", PERSON, 16)],
        [order("12:06", OTHERS[1], 32), order("12:20", OTHERS[0], 64)],
    ]
    for number, rows in enumerate(days):
        bad = [{"customer": who, "amount": "many"} for who in (PERSON, OTHERS[0])]
        flow.arrive("orders", f"day-{number}", [*rows, *(bad if number == 1 else ())])
        flow.go(f"day-{number}")
    assert ("12:00", PERSON, 1) in totals(flow)
    assert ("12:00", OTHERS[1], 36) not in totals(flow)
    plan = told(flow, "erase", flow.name, *WHERE)
    assert (plan["sources"], plan["needed"]) == (["orders"], True)
    done = told(flow, "erase", flow.name, *WHERE, *WHY)
    assert done["applied"]
    rows = without_person([row for day in days for row in day])
    assert totals(flow) == windowed(rows)
    assert holding(flow.layout.home) == []
    assert current(flow.layout) == "live-0002"
    (record,) = open_table(flow.layout.rejected).to_pyarrow_table().column("record").to_pylist()
    assert OTHERS[0] in record
    # Its stream goes on, without the person.
    rows += without_person(late := [order("12:21", PERSON, 3), order("12:22", OTHERS[0], 128)])
    flow.arrive("orders", "later", late)
    flow.go("later")
    assert totals(flow) == windowed(rows)
    assert holding(flow.layout.home) == []
    doctored(flow)
    assert told(flow, "erase", flow.name, *WHERE)["needed"] is False


def test_windows_of_mode_append_are_closed_without_the_person(
    tmp_path: Path, spark: object
) -> None:
    spec = {"event_time": TIME, "output": {"partition_by": {"day": "to_date(window.start)"}}}
    flow = JsonPipeline(tmp_path, {"orders": COLUMNS}, spec, TOTALS)
    days = [
        [order("12:01", PERSON, 1), order("12:03", OTHERS[0], 2)],
        [order("12:35", PERSON, 8), order("12:36", OTHERS[1], 4)],
        [order("12:55", OTHERS[1], 16)],
    ]
    flow.arrive("orders", "open", [order("12:00", "dan@example.org", 1), order("12:02", "eve", 1)])
    flow.go("open")
    # No window is closed yet: only the state has the person.
    assert totals(flow) == []
    dan = ("--where", "customer = 'dan@example.org'", *WHY)
    # The gate holds a table without a row.
    told(flow, "erase", flow.name, *dan, code=4)
    told(flow, "erase", flow.name, *dan, "--release")
    assert (totals(flow), holding(flow.layout.home, "dan@example.org")) == ([], [])
    for number, rows in enumerate(days):
        flow.arrive("orders", f"day-{number}", rows)
        flow.go(f"day-{number}")
    days[0].append(order("12:02", "eve", 1))
    assert totals(flow) == windowed(days[0] + days[1])
    told(flow, "erase", flow.name, *WHERE, *WHY)
    rows = without_person(days[0] + days[1])
    assert (totals(flow), holding(flow.layout.home)) == (windowed(rows), [])
    flow.arrive("orders", "later", [order("13:40", PERSON, 3), order("13:30", OTHERS[0], 32)])
    flow.go("later")
    assert (totals(flow), holding(flow.layout.home)) == (windowed(rows + days[2]), [])


def test_a_complete_result_loses_what_went_into_it(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = JsonPipeline(tmp_path, {"orders": COLUMNS}, {"output": {"mode": "complete"}}, ALL)
    flow.arrive("orders", "a", [order("12:01", PERSON, 1), order("12:03", OTHERS[0], 2, "y")])
    flow.go("a")
    flow.arrive("orders", "b", [order("12:01", PERSON, 4, "y"), order("12:03", OTHERS[0], 8)])
    flow.go("b")
    assert flow.published("shop", "total") == [("x", 9), ("y", 6)]
    with monkeypatch.context() as patch:
        patch.setattr("tidemill.steps.decisions.rebuild.fill_generation", fill_and_die)
        told(flow, "erase", flow.name, *WHERE, *WHY, code=INTERRUPTED)
    refused = flow.run("meanwhile")["doctor"]
    assert refused.error is not None
    assert refused.error["code"] == ErasureUnfinished.__name__
    assert flow.published("shop", "total") == [("x", 9), ("y", 6)]
    told(flow, "erase", flow.name, *WHERE, *WHY)
    assert flow.published("shop", "total") == [("x", 8), ("y", 2)]
    assert holding(flow.layout.home) == []


def test_a_join_loses_the_rows_of_the_named_source(tmp_path: Path, spark: object) -> None:
    clicks = "at timestamp, customer string, page string"
    flow = JsonPipeline(tmp_path, {"orders": COLUMNS, "clicks": clicks}, {"event_time": TIME}, JOIN)
    for customer in (PERSON, *OTHERS):
        seen = {"at": "2026-03-01T12:00:00Z", "customer": customer, "page": customer[:3]}
        flow.arrive("clicks", customer[:3], [seen])
        flow.arrive("orders", customer[:3], [order("12:01", customer, 1)])
    flow.go("first")
    assert [row[0] for row in flow.published("customer")] == [PERSON, *OTHERS]
    unclear = CliRunner().invoke(app, ["erase", flow.name, *WHERE], env=flow.environ)
    assert unclear.exit_code == 2
    told(flow, "erase", flow.name, *WHERE, "--source", "orders", "--source", "clicks", *WHY)
    assert [row[0] for row in flow.published("customer")] == [*OTHERS]
    assert holding(flow.layout.home) == []
