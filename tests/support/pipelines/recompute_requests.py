"""Runs that a person asks for, step by step, and what a table's files are beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.report import Report, Step
from tidemill.ledger.run_kinds import Role
from tidemill.ledger.run_request import RunRequest, fix_request

WHO = {"by": "ada", "reason": "the sums were wrong"}


def ask(flow: JsonPipeline, role: Role, run_id: str, **wanted: Any) -> dict[Step, Report]:
    """Ask for something, and run the four steps up to the first that does not end well."""
    request = RunRequest(role=role, **{**WHO, **wanted})
    fix_request(flow.layout.run(run_id), request)
    return flow.run(run_id)


def days(first: int, end: int) -> dict[str, datetime]:
    """The interval of some days of March 2026, the last one not among them."""
    return {
        "start": datetime(2026, 3, first, tzinfo=UTC),
        "end": datetime(2026, 3, end, tzinfo=UTC),
    }


def files_of(path: Path, column: str = "day") -> dict[str, set[tuple[str, int]]]:
    """Partition -> its live files, by path and size."""
    found: dict[str, set[tuple[str, int]]] = {}
    for add in pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist():
        value = str(add[f"partition.{column}"])
        found.setdefault(value, set()).add((add["path"], add["size_bytes"]))
    return found
