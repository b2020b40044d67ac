"""A small pipeline in folders of its own, to run, to kill and to compare."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import yaml

from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Step
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table

NAME = "orders"
SPEC: dict[str, Any] = {
    "env": {"ORDERS_INPUT": None},
    "timezone": "UTC",
    "sources": {
        "orders": {
            "kind": "file",
            "format": "csv",
            "path": "${ORDERS_INPUT}",
            "schema": "id string, quantity int, at timestamp",
            "maxFilesPerTrigger": 1,
        }
    },
    "event_time": {"column": "at"},
    "row_rules": {"id_present": "id IS NOT NULL"},
    "output": {"partition_by": {"day": "to_date(at)"}},
    "gate": {"rejected": {"hold_above": 0.5}},
}
SUITE: dict[str, Any] = {
    "name": NAME,
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "quantity", "min_value": 1, "mostly": 0.9},
            "meta": {},
            "severity": "critical",
        }
    ],
}
TRANSFORM = """
from pyspark.sql import functions as F

def transform(orders):
    return orders.withColumn("double", F.col("quantity") * 2)
"""


@dataclass
class OrdersPipeline(RunnablePipeline):
    """One pipeline under a temporary folder.

    Args:
        home: Gets `project/`, `input/` and `root/`.
        spec: Written to the project.
    """

    home: Path
    spec: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(SPEC)))
    name = NAME

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.input.mkdir(exist_ok=True)
        project = self.home / "project"
        for folder in ("dags/specs", "spark_jobs/transforms", "expectations/suites"):
            (project / folder).mkdir(parents=True, exist_ok=True)
        (project / f"dags/specs/{NAME}.yaml").write_text(yaml.safe_dump(self.spec))
        (project / f"spark_jobs/transforms/{NAME}.py").write_text(TRANSFORM)
        self.suite.write_text(json.dumps(SUITE))

    @property
    def input(self) -> Path:
        return self.home / "input"

    @property
    def suite(self) -> Path:
        return self.home / "project" / "expectations" / "suites" / f"{NAME}.json"

    @property
    def sink(self) -> Path:
        return self.layout.sink(FIRST_GENERATION)

    @property
    def environ(self) -> dict[str, str]:
        return {**super().environ, "ORDERS_INPUT": str(self.input)}

    def deliver(self, name: str, rows: list[str], *, header: str = "id,quantity,at") -> Path:
        """Put an input file in place whole, as a feed should."""
        draft = self.home / name
        draft.write_text("\n".join([header, *rows]) + "\n")
        return draft.replace(self.input / name)

    def deliver_days(self, days: range, *, rows: int = 20) -> None:
        """A file a day with one malformed line each."""
        for day in days:
            good = [f"{day}-{n},{n % 5 + 1},2026-03-{day:02d} 0{n % 9}:00:00" for n in range(rows)]
            self.deliver(f"day-{day:02d}.csv", [*good, f"{day}-bad,many,2026-03-{day:02d}"])

    def start(self, step: Step, run_id: str) -> subprocess.Popen[bytes]:
        """One step as a process group of its own, to be killed."""
        return subprocess.Popen(
            [sys.executable, "-m", "tidemill.main", step, NAME, "--run-id", run_id],
            env=self.environ,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def published(self) -> Counter[tuple[Any, ...]]:
        """The published rows as a multiset."""
        if not has_table(self.layout.table):
            return Counter()
        table = open_table(self.layout.table).to_pyarrow_table()
        rows = table.select(["id", "quantity", "double", "day"]).to_pylist()
        return Counter(tuple(row.values()) for row in rows)

    def rejected(self) -> Counter[tuple[Any, ...]]:
        """The rejected rows' reasons and records as a multiset."""
        if not has_table(self.layout.rejected):
            return Counter()
        rows = open_table(self.layout.rejected).to_pyarrow_table(columns=["reason", "record"])
        return Counter(tuple(row.values()) for row in rows.to_pylist())

    def expected(self) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
        """Good and rejected rows of all input, by DuckDB, which knows nothing of us."""
        lines = duckdb.connect().sql(
            f"""
            SELECT str_split(line, ',') AS f, line
            FROM (SELECT unnest(str_split(content, chr(10))) AS line
                  FROM read_text('{self.input}/*.csv'))
            WHERE line <> '' AND line NOT LIKE 'id,%'
            """
        )
        good = lines.query(
            "lines",
            """SELECT f[1], try_cast(f[2] AS INT), 2 * try_cast(f[2] AS INT),
                      try_cast(f[3] AS TIMESTAMP)::DATE
               FROM lines WHERE try_cast(f[2] AS INT) IS NOT NULL""",
        )
        bad = lines.query(
            "lines", "SELECT 'malformed', line FROM lines WHERE try_cast(f[2] AS INT) IS NULL"
        )
        return Counter(good.fetchall()), Counter(bad.fetchall())

    def assert_whole(self) -> None:
        """What consumers read equals the transform over all input, rejected rows beside it."""
        good, bad = self.expected()
        assert self.published() == good
        assert self.rejected() == bad
