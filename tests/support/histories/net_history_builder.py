"""The past of a pipeline in mode `update` or `complete`: batches are attempts with a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.histories.history_builder import NAME, History
from tests.support.histories.spark_batch_builder import write_files
from tests.support.sample_rows import Row
from tidemill.contract.report import Report
from tidemill.file_formats.parquet import read_footer
from tidemill.ledger.manifests import (
    AttemptFile,
    Manifest,
    folder_of,
    new_attempt,
    put_manifest,
    read_attempts,
)
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform

SUITE = {
    "name": NAME,
    "meta": {"great_expectations_version": "1.24.1"},
    "expectations": [
        {
            "type": "expect_column_values_to_not_be_null",
            "kwargs": {"column": "action"},
            "severity": "critical",
        }
    ],
}
COUNTS = pa.schema(
    [("action", pa.string()), ("hour", pa.timestamp("us", "UTC")), ("count", pa.int64())]
)


def hour(number: int) -> datetime:
    return datetime(2024, 1, 1, number, tzinfo=UTC)


def count(action: str, at: int, number: int, **more: Any) -> dict[str, Any]:
    """A row of the default columns."""
    return {"action": action, "hour": hour(at), "count": number, **more}


def nothing_planned() -> Mapping[str, pa.DataType]:
    """No partitions."""
    return {}


@dataclass
class NetHistory(History):
    """A pipeline whose batches replace rows of earlier ones.

    Args:
        mode: The output mode.
        keys: `output.keys`.
        rows_in: What the next batches' writer says it has read.
    """

    columns: pa.Schema = field(default_factory=lambda: COUNTS)
    partitions: Mapping[str, pa.DataType] = field(default_factory=nothing_planned)
    mode: str = "update"
    keys: Sequence[str] = ("action", "hour")
    rows_in: int | None = None

    def __post_init__(self) -> None:
        self.output = f", mode: {self.mode}, keys: [{', '.join(self.keys)}]{self.output}"
        super().__post_init__()

    @property
    def written(self) -> int:
        latest = read_attempts(self.sink).latest
        return -1 if latest is None else latest

    def write(self, number: int, good: Iterable[Row], rejected: Iterable[Row]) -> None:
        attempt = self.attempt(number, good, rejected)
        folder = folder_of(self.sink, number) / attempt
        planned = read_checkpoint(self.checkpoint).offsets[number]
        manifest = Manifest(
            batch=number,
            attempt=attempt,
            epoch=1,
            run_id="ingest",
            offsets=dict(planned.sources),
            files=tuple(_described(path, folder) for path in sorted(folder.rglob("*.parquet"))),
            rows_in=self.rows_in,
            written=datetime.now(UTC),
        )
        assert put_manifest(self.sink, manifest)

    def attempt(self, number: int, good: Iterable[Row] = (), rejected: Iterable[Row] = ()) -> str:
        """An attempt at a batch that no manifest names; the name of its directory."""
        name = new_attempt(1)
        folder = folder_of(self.sink, number) / name
        folder.mkdir(parents=True)
        write_files(folder, number, self.columns, self.partitions, good, rejected)
        return name

    def manifest(self, batch: int) -> Path:
        return folder_of(self.sink, batch) / "_manifest.json"

    def gate(self) -> Report:
        """Seal and judge as the gate does; without rows it needs no Great Expectations."""
        self.pipeline.suite_file.parent.mkdir(parents=True, exist_ok=True)
        self.pipeline.suite_file.write_text(json.dumps(SUITE))
        return perform("gate", gate, self.run())

    def table(self) -> list[tuple[Any, ...]]:
        """The published rows, in the order of their values."""
        return sorted((tuple(row.values()) for row in self.published()), key=str)


def _described(path: Path, folder: Path) -> AttemptFile:
    return AttemptFile(
        path=str(path.relative_to(folder)),
        size=path.stat().st_size,
        rows=read_footer(path).rows,
        modified_ms=path.stat().st_mtime_ns // 1_000_000,
    )
