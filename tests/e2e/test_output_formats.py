"""Formats of the file sink that no table can name: gated all the same, and published as files."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from tests.support.pipelines.orders_pipeline import SPEC, OrdersPipeline
from tidemill.cli.app import app
from tidemill.contract.report import Outcome
from tidemill.journal.published_files import published_files
from tidemill.toolchain.jars import JarsMissing, jars_of

TRANSFORMS = {
    "text": "def transform(orders):\n"
    "    return orders.selectExpr(\"concat_ws('|', id, quantity) AS line\", *PARTITIONS)\n",
    "other": "def transform(orders):\n"
    "    return orders.select('id', 'quantity', 'at', *PARTITIONS)\n",
}
IDS = {"a", ' b, "quoted" \\'}
BY_DAY = {"partition_by": {"day": "to_date(at)"}}
ROWS = [
    "a,1,2026-03-01 00:00:00.000001",
    '" b, ""quoted"" \\",2,2026-03-02 00:00:00',
    "c,many,2026-03-01",
    "d,0,2026-03-01 00:00:00",
]


def mill_of(home: Path, format: str, output: dict[str, Any]) -> OrdersPipeline:
    spec = json.loads(json.dumps(SPEC))
    spec["sources"]["orders"]["options"] = {"escape": '"'}
    spec["row_rules"] = {"some": "quantity > 0"}
    spec["output"] = {"format": format, **output}
    spec["publish"] = [{"kind": "files"}]
    mill = OrdersPipeline(home, spec)
    partitions = repr([*output.get("partition_by", {})])
    text = TRANSFORMS.get(format, TRANSFORMS["other"]).replace("PARTITIONS", partitions)
    mill.pipeline.transform_file.write_text(text)
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0] = {
        "type": "expect_column_values_to_not_be_null",
        "kwargs": {"column": "line" if format == "text" else "quantity"},
        "meta": {},
        "severity": "critical",
    }
    mill.suite.write_text(json.dumps(suite))
    return mill


def read(spark: Any, mill: OrdersPipeline) -> Counter[tuple[Any, ...]]:
    """What the lists of published files name, as a consumer with Spark reads it."""
    rows: list[Any] = []
    for published in published_files(mill.layout):
        for file in published.files:
            options = file.write_format.options | (
                {"multiLine": "true"} if file.path.endswith(".csv") else {}
            )
            reader = spark.read.options(**options).format(file.write_format.format)
            found = reader.load(str(mill.layout.home / file.path)).collect()
            assert len(found) == file.rows
            rows += [tuple(row.asDict().values()) for row in found]
    return Counter(rows)


CASES = [
    ("csv", {}),
    ("csv", {**BY_DAY, "options": {"escape": '"', "compression": "gzip", "header": False}}),
    ("json", BY_DAY),
    ("json", {"options": {"compression": "bzip2", "lineSep": "\r\n"}}),
    ("orc", BY_DAY),
    ("text", {}),
    ("text", {**BY_DAY, "options": {"compression": "deflate"}}),
    ("avro", BY_DAY),
]


@pytest.mark.parametrize(("format", "output"), CASES)
def test_what_passes_is_listed_and_what_is_rejected_is_kept(
    tmp_path: Path, spark: Any, format: str, output: dict[str, Any]
) -> None:
    if format == "avro":
        needs_avro()
    mill = mill_of(tmp_path, format, output)
    mill.deliver("a.csv", ROWS)

    reports = mill.run("first")

    assert reports["publish"].outcome is Outcome.DONE, reports["publish"].reason
    assert (reports["ingest"].facts["rows"], reports["ingest"].facts["rejected"]) == (2, 2)
    assert reports["gate"].facts["engine"] == "spark"
    rejected = DeltaTable(mill.layout.rejected).to_pyarrow_table().to_pylist()
    assert Counter((row["reason"], row["record"]) for row in rejected) == Counter(
        [
            ("malformed", "c,many,2026-03-01"),
            (
                "rule some",
                '{"id":"d","quantity":0,"at":"2026-03-01T00:00:00.000000Z"}',
            ),
        ]
    )
    days = {"2026-03-01"} if "partition_by" in output else set()
    assert {value for row in rejected for _, value in row["partition"] or () if value} == days
    found = read(spark, mill)
    assert sum(found.values()) == 2
    if format == "text":
        assert found == Counter([("a|1",), (' b, "quoted" \\|2',)])
    else:
        assert {value for row in found for value in row if value in IDS} == IDS


def test_a_held_increment_is_in_no_list(tmp_path: Path, spark: Any) -> None:
    mill = mill_of(tmp_path, "json", {})
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0]["type"] = "expect_column_values_to_be_null"
    mill.suite.write_text(json.dumps(suite))
    mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    assert mill.run("first")["gate"].outcome is Outcome.HELD
    assert mill.step("publish", "first").outcome is Outcome.WAITING
    assert published_files(mill.layout) == []


def test_a_line_break_in_text_would_be_two_rows_and_is_an_error(tmp_path: Path, spark: Any) -> None:
    mill = mill_of(tmp_path, "text", {})
    mill.pipeline.transform_file.write_text(
        "def transform(orders):\n    return orders.selectExpr(\"concat(id, '\\n')\")\n"
    )
    mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    mill.step("doctor", "first")
    failed = mill.step("ingest", "first")
    assert failed.outcome is Outcome.FAILED
    assert failed.error is not None
    assert (failed.error["code"], failed.error["transient"]) == ("QueryFailed", False)
    assert "line break" in failed.reason


@pytest.mark.parametrize("columns", ["'id', 'quantity'", "'quantity'"])
def test_text_holds_one_column_of_text(tmp_path: Path, spark: Any, columns: str) -> None:
    mill = mill_of(tmp_path, "text", {})
    mill.pipeline.transform_file.write_text(
        f"def transform(orders):\n    return orders.select({columns})\n"
    )
    mill.deliver("a.csv", ["a,1,2026-03-01 00:00:00"])
    mill.step("doctor", "first")
    failed = mill.step("ingest", "first")
    assert failed.error is not None
    assert (failed.error["code"], failed.error["data"]["field"]) == (
        "OutputDoesNotFit",
        "output.format",
    )


def test_a_consumer_without_spark_reads_csv_by_its_list(tmp_path: Path, spark: Any) -> None:
    mill = mill_of(tmp_path, "csv", {"options": {"escape": '"'}})
    mill.deliver("a.csv", ROWS)
    mill.run("first")
    mill.deliver("b.csv", ["e,5,2026-03-03 00:00:00"])
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    first, second = published_files(mill.layout)
    assert (first.seq, second.seq, first.rows, second.rows) == (1, 2, 2, 1)
    rows = []
    for file in (*first.files, *second.files):
        with (mill.layout.home / file.path).open(newline="") as content:
            rows += list(csv.DictReader(content))
    assert Counter((row["id"], row["quantity"]) for row in rows) == Counter(
        [("a", "1"), (' b, "quoted" \\', "2"), ("e", "5")]
    )


def needs_avro() -> None:
    try:
        jars_of("avro")
    except JarsMissing:
        pytest.skip("make jars")


@pytest.mark.remedy("NotShown")
def test_rows_in_files_that_only_spark_reads_are_not_shown_and_their_input_is_tried(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path, "json", {})
    file = mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00"])
    assert mill.run("run")["publish"].outcome is Outcome.DONE

    def tidemill(*words: str) -> Any:
        return json.loads(CliRunner().invoke(app, [*words, "--json"], env=mill.environ).stdout)

    refused = tidemill("rows", "orders", "--increment", "1")
    assert refused["code"] == "NotShown"
    assert "tidemill preview orders --input FILE" in refused["remedy"]
    tried = tidemill("preview", "orders", "--input", str(file))
    assert [row["id"] for row in tried["good"]] == ["a"]
