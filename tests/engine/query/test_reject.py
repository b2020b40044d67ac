"""Rows that no partition can hold are rejected before they are written."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.spec_text import minimal, parse
from tidemill.engine.query.reject import committed, good, tag
from tidemill.engine.sources.file import read_batch
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.output import REJECTED_PARTITION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_text_that_names_the_null_partition_is_rejected_like_null(
    tmp_path: Path, spark: SparkSession
) -> None:
    path = tmp_path / "orders.csv"
    at = "2026-03-01 00:00:00"
    path.write_text(f"id,amount,at\na,1,{at}\n{NULL_PARTITION},2,{at}\n,3,{at}\n")
    spec = parse(minimal("output: {partition_by: {k: upper(id)}}\n"))

    rows = tag(read_batch(spark, spec.sources["orders"], [str(path)]), spec, "orders").collect()

    found = {int(row["amount"]): row["_reject"] for row in rows}
    assert found[1] is None
    assert [found[n]["reason"] for n in (2, 3)] == ["no partition k"] * 2
    assert [found[n]["partition"] for n in (2, 3)] == [{"k": None}] * 2


def test_where_the_null_partition_is_kept_its_rows_are_good_ones(
    tmp_path: Path, spark: SparkSession
) -> None:
    path = tmp_path / "orders.csv"
    at = "2026-03-01 00:00:00"
    lines = [
        f"{NULL_PARTITION},2,{at}",
        f",3,{at}",
        f",-4,{at}",
        "a,many,",
        f"{REJECTED_PARTITION},6,{at}",
    ]
    path.write_text("\n".join(["id,amount,at", *lines]) + "\n")
    output = "output: {null_partition: keep, partition_by: {k: upper(id)}}\n"
    spec = parse(minimal(output + "row_rules: {positive: amount > 0}\n"))

    rows = tag(read_batch(spark, spec.sources["orders"], [str(path)]), spec, "orders")
    found = [
        (row["k"], reject and (reject["reason"], reject["partition"]))
        for row in committed(rows, spec).collect()
        for reject in (row["_reject"],)
    ]

    assert found == [
        (None, None),
        (None, None),
        (REJECTED_PARTITION, ("rule positive", {"k": NULL_PARTITION})),
        (REJECTED_PARTITION, ("malformed", {"k": None})),
        (REJECTED_PARTITION, ("no partition k", {"k": None})),
    ]


def test_an_event_time_may_have_a_dot_in_its_name(tmp_path: Path, spark: SparkSession) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("id,amount,when.booked\na,1,2026-03-01 00:00:00\nb,2,\n")
    dotted = {"at timestamp": "`when.booked` timestamp", "column: at": "column: when.booked"}
    more = "output: {partition_by: {day: to_date(`when.booked`)}}\n"
    spec = parse(
        minimal(more, replace=dotted).replace("when.booked\n", "when.booked\n  watermark: 1 day\n")
    )

    rows = tag(read_batch(spark, spec.sources["orders"], [str(path)]), spec, "orders")

    assert [row["_reject"] and row["_reject"]["reason"] for row in rows.collect()] == [
        None,
        "no event time",
    ]
    (found,) = good(rows, spec, "orders").collect()
    assert (found["when.booked"].day, found["day"]) == (1, date(2026, 3, 1))
