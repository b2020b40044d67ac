"""The pipeline and the data that are measured."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import yaml

NAME = "orders"
SPEC: dict[str, Any] = {
    "env": {"ORDERS_INPUT": None},
    "sources": {
        "orders": {
            "kind": "file",
            "format": "csv",
            "path": "${ORDERS_INPUT}",
            "schema": (
                "id string, quantity int, price decimal(10,2), product string, at timestamp"
            ),
            "maxFilesPerTrigger": 10,
        }
    },
    "event_time": {"column": "at"},
    "row_rules": {"id_present": "id IS NOT NULL"},
    "output": {"partition_by": {"day": "to_date(at)"}},
}
TRANSFORM = """
from pyspark.sql import functions as F

def transform(orders):
    amount = F.col("quantity") * F.col("price")
    return orders.withColumn("amount", amount.cast("decimal(12,2)"))
"""
EXPECTATIONS: list[tuple[str, dict[str, Any]]] = [
    ("expect_column_values_to_not_be_null", {"column": "id"}),
    (
        "expect_column_values_to_be_between",
        {"column": "quantity", "min_value": 1, "mostly": 0.9},
    ),
    ("expect_column_values_to_be_between", {"column": "price", "min_value": 0}),
]
BYTES_A_ROW = {"csv": 50, "json": 110}
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def source_of(form: str) -> dict[str, Any]:
    """The spec's source of files in a format: `csv` or `json`."""
    return {"orders": SPEC["sources"]["orders"] | {"format": form}}


def write_project(home: Path, name: str = NAME, **fields: Any) -> None:
    """Spec, transform and suite in a folder for `TIDEMILL_PROJECTS`.

    Args:
        home: The folder.
        name: The name of the pipeline.
        fields: The fields of its spec, over those of `SPEC`.
    """
    suite = {
        "name": name,
        "meta": {"great_expectations_version": "1.24.1"},
        "expectations": [
            {"type": kind, "kwargs": arguments, "meta": {}, "severity": "critical"}
            for kind, arguments in EXPECTATIONS
        ],
    }
    for path, text in (
        (home / f"dags/specs/{name}.yaml", yaml.safe_dump({**SPEC, **fields})),
        (home / f"spark_jobs/transforms/{name}.py", TRANSFORM),
        (home / f"expectations/suites/{name}.json", json.dumps(suite)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def file_name(number: int, form: str = "csv") -> str:
    """The name of one input file."""
    return f"orders-{number:03d}.{form}"


def write_input(
    folder: Path,
    *,
    megabytes: float,
    files: int,
    day: datetime = DAY,
    first: int = 0,
    form: str = "csv",
) -> None:
    """Files of some megabytes together, one row in 500 malformed, all of one day.

    Args:
        folder: Where they go.
        megabytes: The megabytes of all files.
        files: How many.
        day: The day of the event times.
        first: The number of the first file.
        form: Their format: `csv` or `json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = int(megabytes * 2**20 / BYTES_A_ROW[form] / files)
    options, many, kind = {
        "csv": ("HEADER", "many", "VARCHAR"),
        "json": ("FORMAT json", '"many"', "VARCHAR::JSON"),
    }[form]
    for number in range(first, first + files):
        duckdb.sql(
            f"""COPY (
                SELECT 'ORDER-{number:03d}-' || lpad(range::VARCHAR, 9, '0') AS id,
                    CASE WHEN range % 500 = 0 THEN '{many}'::{kind}
                         ELSE (1 + range % 9)::{kind} END AS quantity,
                    ((range % 9000) / 100)::DECIMAL(10,2) AS price,
                    ['kettle', 'teapot', 'mug'][1 + range % 3] AS product,
                    strftime(TIMESTAMP '{day:%Y-%m-%d}' + to_seconds(range % 86400),
                             '%Y-%m-%d %H:%M:%S') AS at
                FROM range({rows})) TO '{folder}/{file_name(number, form)}' ({options})"""
        )
