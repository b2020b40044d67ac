"""Ten rules on many rows: the gate on Spark, and one aggregation written by hand."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tests.bench.measure import Cost, cost_of
from tests.bench.results import Side
from tests.bench.sides import SCRIPTS, SUBMIT, Sides

FILES = 8
# More rows than these are more names of the same files.
MOST_WRITTEN = 10_000_000
TYPES = {
    "id": "string",
    "quantity": "integer",
    "price": "decimal(10,2)",
    "product": "string",
    "country": "string",
    "amount": "double",
    "at": "timestamp",
}
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in TYPES.items()
        ],
    }
)
RULES: list[tuple[str, dict[str, Any]]] = [
    ("table_row_count_to_be_between", {"min_value": 1}),
    ("column_values_to_not_be_null", {"column": "id"}),
    ("column_values_to_not_be_null", {"column": "quantity"}),
    ("column_values_to_be_between", {"column": "quantity", "min_value": 1, "max_value": 100}),
    ("column_values_to_be_between", {"column": "price", "min_value": 0, "max_value": 1000}),
    (
        "column_values_to_be_in_set",
        {"column": "product", "value_set": ["kettle", "teapot", "mug"]},
    ),
    ("column_values_to_match_regex", {"column": "id", "regex": r"^ORDER-\d{9}$"}),
    ("column_value_lengths_to_equal", {"column": "country", "value": 2}),
    ("column_mean_to_be_between", {"column": "amount", "min_value": 0, "max_value": 1000}),
    ("column_max_to_be_between", {"column": "quantity", "max_value": 9}),
]


class GateSides(Sides):
    """Both sides on the same Parquet files.

    Args:
        home: An empty folder.
        rows: How many rows are judged.
    """

    def __init__(self, home: Path, rows: int) -> None:
        super().__init__(home)
        self._folder = home / "rows"
        suite = {
            "name": "orders",
            "meta": {"great_expectations_version": "1.24.1"},
            "expectations": [
                {"type": f"expect_{kind}", "kwargs": kwargs, "meta": {}, "severity": "critical"}
                for kind, kwargs in RULES
            ],
        }
        path = home / "ours/expectations/suites/orders.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(suite))
        (home / "ours/schema.json").write_text(SCHEMA)
        self._folder.mkdir()
        times = max(1, rows // MOST_WRITTEN)
        _write(self._folder, rows // times)
        for file in sorted(self._folder.iterdir()):
            for again in range(1, times):
                os.link(file, self._folder / f"{again}-{file.name}")

    def sides(self) -> tuple[Side, Side]:
        folder = str(self._folder)
        ours = [*SUBMIT, str(SCRIPTS / "gate.py"), str(self.home / "ours"), folder]
        theirs = [*SUBMIT, str(SCRIPTS / "aggregation.py"), folder]
        return partial(self._cost, ours), partial(self._cost, theirs)

    def _cost(self, command: list[str]) -> Cost:
        return cost_of([command], self.environ)


def _write(folder: Path, rows: int) -> None:
    for number in range(FILES):
        first, last = (rows * at // FILES for at in (number, number + 1))
        duckdb.sql(
            f"""COPY (
                SELECT 'ORDER-' || lpad(range::VARCHAR, 9, '0') AS id,
                    (1 + range % 9)::INTEGER AS quantity,
                    ((range % 9000) / 100)::DECIMAL(10,2) AS price,
                    ['kettle', 'teapot', 'mug'][1 + range % 3] AS product,
                    ['DE', 'FR', 'GB', 'NL'][1 + range % 4] AS country,
                    ((range % 7919) / 10)::DOUBLE AS amount,
                    (TIMESTAMP '2026-03-01' + to_seconds(range % 86400))::TIMESTAMPTZ AS at
                FROM range({first}, {last})) TO '{folder}/{number}.parquet'"""
        )
