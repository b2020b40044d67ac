"""Several sources in one pipeline, each by name: one may be added, one may go, none comes back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from tests.support.pipelines.orders_pipeline import NAME, SPEC, OrdersPipeline
from tests.support.remedies import carry_out
from tidemill.contract.report import Outcome

UNION = """
from functools import reduce

from pyspark.sql import functions as F


def transform({arguments}):
    parts = {{{pairs}}}
    return reduce(
        lambda a, b: a.unionByName(b),
        [rows.select("id", "day", F.lit(name).alias("shop")) for name, rows in parts.items()],
    )
"""


class Shops(OrdersPipeline):
    """A mill that unites the orders of several shops, a folder and a source each."""

    def open(self, *names: str) -> None:
        """Write spec and transform for these shops."""
        self.spec["sources"] = {
            name: {
                "kind": "file",
                "format": "json",
                "path": f"${{ORDERS_INPUT}}/{name}",
                "schema": "id string, quantity int, at timestamp",
                "row_rules": {f"{name}_sells": "quantity > 0"},
            }
            for name in names
        }
        for name in names:
            (self.input / name).mkdir(exist_ok=True)
        path = self.home / "project"
        (path / f"dags/specs/{NAME}.yaml").write_text(yaml.safe_dump(self.spec))
        text = UNION.format(
            arguments=", ".join(names), pairs=", ".join(f"'{name}': {name}" for name in names)
        )
        (path / f"spark_jobs/transforms/{NAME}.py").write_text(text)

    def sell(self, shop: str, *ids: str, quantity: int = 1) -> None:
        lines = [
            json.dumps({"id": one, "quantity": quantity, "at": "2026-03-01T00:00:00"})
            for one in ids
        ]
        (self.input / shop / f"{ids[0]}.json").write_text("\n".join(lines) + "\n")

    def sold(self) -> Counter[tuple[Any, ...]]:
        table = DeltaTable(self.layout.table).to_pyarrow_table(columns=["shop", "id"])
        return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture
def shops(tmp_path: Path, spark: object) -> Shops:
    spec = json.loads(json.dumps(SPEC))
    spec["gate"] = {"rejected": {"hold_above": 1}}
    made = Shops(tmp_path, spec)
    made.open("dover", "calais")
    suite = json.loads(made.suite.read_text())
    suite["expectations"][0] = {
        "type": "expect_column_values_to_not_be_null",
        "kwargs": {"column": "id"},
        "meta": {},
    }
    made.suite.write_text(json.dumps(suite))
    return made


@pytest.mark.remedy("SourceReturned")
def test_sources_come_and_go_by_name(shops: Shops) -> None:
    shops.sell("dover", "d1", "d2")
    shops.sell("calais", "c1")
    shops.sell("calais", "c2", quantity=0)
    assert shops.run("two")["publish"].outcome is Outcome.DONE
    expected = Counter([("dover", "d1"), ("dover", "d2"), ("calais", "c1")])
    assert shops.sold() == expected
    assert [reason for reason, _ in shops.rejected()] == ["rule calais_sells"]

    shops.open("dover", "ostend", "calais")
    shops.sell("ostend", "o1")
    shops.sell("dover", "d3")
    reports = shops.run("three")
    assert reports["doctor"].facts["new"] == {"dover": 1, "ostend": 1, "calais": 0}
    expected += Counter([("ostend", "o1"), ("dover", "d3")])
    assert shops.sold() == expected

    shops.open("ostend", "dover")
    shops.sell("ostend", "o2")
    shops.sell("calais", "c3")
    assert shops.run("without calais")["publish"].outcome is Outcome.DONE
    expected += Counter([("ostend", "o2")])
    assert shops.sold() == expected
    batches = shops.layout.ledger("live-0001")
    read = [json.loads(path.read_text())["inputs"] for path in sorted(batches.glob("*.json"))]
    assert {one["source"] for batch in read for one in batch} == {"dover", "calais", "ostend"}

    # Spark would take in all of its files once more.
    shops.open("dover", "calais", "ostend")
    report = shops.step("doctor", "calais is back")
    assert report.error is not None
    assert (report.outcome, report.error["code"]) == (Outcome.REFUSED, "SourceReturned")
    assert report.error["data"]["source"] == "calais"
    carry_out(shops, report.error["remedy"], "rebuild")


@pytest.mark.remedy("SourceChanged")
def test_a_source_with_another_event_time_is_refused(shops: Shops) -> None:
    shops.sell("dover", "d1")
    assert shops.run("first")["publish"].outcome is Outcome.DONE
    shops.spec["sources"]["dover"]["schema"] += ", booked timestamp"
    shops.spec["sources"]["dover"]["event_time"] = {"column": "booked"}
    path = shops.home / f"project/dags/specs/{NAME}.yaml"
    path.write_text(yaml.safe_dump(shops.spec))
    report = shops.step("doctor", "second")
    assert report.error is not None
    assert (report.error["code"], report.error["data"]["source"]) == ("SourceChanged", "dover")
    carry_out(shops, report.error["remedy"], "rebuild")


def test_a_transform_must_take_the_sources_by_name(shops: Shops) -> None:
    shops.pipeline.transform_file.write_text("def transform(dover, rouen):\n    return dover\n")
    shops.sell("dover", "d1")
    report = shops.step("ingest", "first")
    assert report.error is not None
    assert report.error["code"] == "SpecError"
    assert "calais" in report.error["what"]
