"""A type is proposed for a sample only where Spark reads each of its values as that type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tidemill.spec.formats.csv import CSV
from tidemill.steps.authoring.sample_types import column_of_texts, column_of_values

TEXTS = [
    (["1", "-2", "+3", "0"], "bigint"),
    (["9223372036854775807"], "bigint"),
    (["9223372036854775808"], "double"),
    (["1", "2.5", "1e3", ".5", "-0.0"], "double"),
    (["true", "FALSE"], "boolean"),
    (["2026-02-28"], "date"),
    (["2026-02-28 10:00:00", "2026-02-28T10:00", "2026-02-28T10:00:00.123456Z"], "timestamp"),
    (["2026-02-28 10:00:00+01:00", "2026-02-28 10:00:00+0100"], "timestamp"),
]
NO_TYPE = [
    ["007"],
    ["1", "x"],
    ["."],
    [" 1"],
    ["1_000"],
    ["nan"],
    ["2026-02-30"],
    ["2026-02-28 25:00:00"],
    ["10:00:00"],
    ["28/02/2026"],
    ["٣"],
]


@pytest.mark.parametrize(("texts", "kind"), TEXTS)
def test_spark_reads_each_text_as_the_type_that_is_proposed(
    spark: SparkSession, tmp_path: Path, texts: list[str], kind: str
) -> None:
    assert column_of_texts("v", texts).type == kind
    file = tmp_path / "texts.csv"
    file.write_text("\n".join(["v", *texts]) + "\n")
    options = {**CSV.reader_defaults, "mode": "FAILFAST"}
    rows = spark.read.schema(f"v {kind}").options(**options).csv(str(file)).collect()
    assert len(rows) == len(texts)
    assert all(row.v is not None for row in rows)


@pytest.mark.parametrize("texts", NO_TYPE)
def test_a_text_that_only_looks_like_a_type_stays_a_text(texts: list[str]) -> None:
    assert column_of_texts("v", texts).type == "string"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], "bigint"),
        ([1, 2.5], "double"),
        ([True, False], "boolean"),
        ([True, 1], "string"),
        ([1, "a"], "string"),
        ([2**63], "double"),
        (["2026-01-01"], "date"),
        (["1", "2"], "string"),
        ([[1, 2], [], None], "array<bigint>"),
        ([{"a": 1}, {"b c": [{"d": "x"}]}], "struct<a: bigint, `b c`: array<struct<d: string>>>"),
        ([[], None], "array<string>"),
        ([None], "string"),
    ],
)
def test_json_values_have_their_own_types(values: list[Any], kind: str) -> None:
    assert column_of_values("v", values).type == kind
