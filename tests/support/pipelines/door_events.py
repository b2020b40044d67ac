"""Doors that open and close: a pipeline that counts them by hour, and DuckDB's count beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import yaml

from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tests.support.table_reader import read_rows
from tidemill.contract.layout import FIRST_GENERATION

SPEC: dict[str, Any] = {
    "env": {"ORDERS_INPUT": None},
    "timezone": "UTC",
    "sources": {
        "events": {
            "kind": "file",
            "format": "json",
            "path": "${ORDERS_INPUT}",
            "schema": "time timestamp, action string",
            "maxFilesPerTrigger": 1,
        }
    },
    "event_time": {"column": "time"},
    "row_rules": {"action_known": "action IS NOT NULL"},
    "output": {"mode": "update", "keys": ["action", "hour"]},
    "gate": {"rejected": {"hold_above": 0.5}},
}
EACH_ONCE = {
    "type": "expect_compound_columns_to_be_unique",
    "kwargs": {"column_list": ["action", "hour"]},
}
TRANSFORM = """
from pyspark.sql import functions as F


def transform(events):
    counts = events.groupBy("action", F.window("time", "1 hour").alias("window")).count()
    return counts.select("action", F.col("window.start").alias("hour"), "count")
"""
Counts = Counter[tuple[Any, ...]]


@dataclass
class Actions(OrdersPipeline):
    """A mill that counts.

    Args:
        transform: Its code.
    """

    spec: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(SPEC)))
    transform: str = TRANSFORM

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.home / f"project/spark_jobs/transforms/{NAME}.py").write_text(self.transform)
        self.expect(EACH_ONCE)

    def expect(self, expectation: Mapping[str, Any]) -> None:
        """Hold what does not keep an expectation, with the table as it would be."""
        told = {"meta": {"tidemill": {"scope": "table"}}, "severity": "critical", **expectation}
        meta = {"great_expectations_version": "1.24.1"}
        suite = {"name": NAME, "meta": meta, "expectations": [told]}
        self.suite.write_text(json.dumps(suite))

    def write_spec(self, **output: Any) -> None:
        """Write the spec again, with other members of `output`."""
        self.spec["output"] |= output
        path = self.home / f"project/dags/specs/{NAME}.yaml"
        path.write_text(yaml.safe_dump(self.spec))

    def arrive(self, name: str, events: Sequence[tuple[str, str | None]]) -> Path:
        """A file of events: time and action, None for one without."""
        draft = self.home / name
        lines = [json.dumps({"time": time, "action": action}) for time, action in events]
        draft.write_text("\n".join(lines) + "\n")
        return draft.replace(self.input / name)

    def arrive_hours(self, *hours: int, actions: int = 4) -> None:
        """A file an hour: doors that open and, most of them, close, and an event of neither."""
        for hour in hours:
            time = [f"2026-03-01T{hour:02d}:{minute:02d}:00" for minute in range(actions)]
            opened = [(one, "open") for one in time]
            closed = [(one, "close") for one in time[: hour % actions]]
            # Late by an hour, so that later files change what earlier ones gave.
            late = [(f"2026-03-01T{max(hour - 1, 0):02d}:59:00", "open")]
            self.arrive(f"{hour:02d}.json", [*opened, *closed, *late, (time[0], None)])

    def counts(self) -> Counts:
        """The published rows as a multiset."""
        return Counter(tuple(row.values()) for row in read_rows(self.layout.table))

    def batch_query(self) -> Counts:
        """The same of all input in one go, by DuckDB, which knows nothing of us."""
        rows = duckdb.connect().execute(
            """
            SELECT action, date_trunc('hour', time) AT TIME ZONE 'UTC', count(*)
            FROM read_json($1, columns = {time: 'TIMESTAMP', action: 'VARCHAR'})
            WHERE action IS NOT NULL GROUP BY ALL
            """,
            [f"{self.input}/*.json"],
        )
        return Counter(rows.fetchall())

    def assert_whole(self) -> None:
        """The counts are those of all input, and of each file one event is rejected."""
        assert self.counts() == self.batch_query()
        assert sum(self.rejected().values()) == len(list(self.input.iterdir()))

    def forget_commit(self, batch: int) -> None:
        """Leave things as a driver does that is killed between a manifest and its commit."""
        commit = self.checkpoint / "commits" / str(batch)
        commit.unlink()
        commit.with_name(f".{batch}.crc").unlink()
        (self.layout.ledger(FIRST_GENERATION) / f"{batch:06d}.json").unlink()

    def attempts(self, batch: int) -> list[Path]:
        """The directories of all attempts at a batch."""
        return sorted((self.sink / f"batch={batch}").glob("attempt-*"))
