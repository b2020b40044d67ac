"""Spark goes on after a power cut with the logs that the ledger has given back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.kills.test_recovery import AS_IT_IS, SPEC, closed, rows, sums
from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.steps.decisions.repair_checkpoint import repair_checkpoint

AS_IT_COMES = """
def transform(events):
    return events
"""


def minutes(files: range) -> list[int]:
    return [minute for n in files for minute in (10 * n, 10 * n + 3, 10 * n - 6)]


def arrive(flow: JsonPipeline, files: range) -> None:
    for n in files:
        flow.arrive("events", f"{n} é#%+='s", rows(minutes(range(n, n + 1))))


def last_entries(flow: JsonPipeline) -> dict[Path, str]:
    """What a power cut may take of batches that the ledger knows: of each log its last entry."""
    checkpoint, last = flow.layout.checkpoint(FIRST_GENERATION), flow.batches[-1]
    entries = [
        checkpoint / "metadata",
        checkpoint / "offsets" / str(last.batch),
        checkpoint / "commits" / str(last.batch),
        checkpoint / "sources" / "events" / str(last.offsets["events"]["logOffset"]),
        flow.layout.sink(FIRST_GENERATION) / "_spark_metadata" / str(last.batch),
        *flow.layout.home.rglob("9.compact"),
    ]
    return {entry: entry.read_text() for entry in entries}


def meaning(entries: dict[Path, str]) -> dict[Path, Any]:
    """Entries to the letter, but for the moment in which a batch was planned."""

    def line(text: str) -> Any:
        if "batchTimestampMs" not in text:
            return text
        return {**json.loads(text), "batchTimestampMs": None}

    return {path: [*map(line, text.split("\n"))] for path, text in entries.items()}


def test_queries_with_and_without_state_go_on_exactly_after_a_repair(
    tmp_path: Path, spark: object
) -> None:
    columns = {"events": "at timestamp, n string"}
    windows = JsonPipeline(tmp_path / "windows", columns, SPEC, AS_IT_IS)
    plain = JsonPipeline(tmp_path / "plain", columns, {}, AS_IT_COMES)
    first, then = range(1, 5), range(5, 7)
    for flow, more in ((windows, range(0)), (plain, range(7, 15))):
        arrive(flow, more)
        arrive(flow, first)
        flow.go("before")
        entries = last_entries(flow)
        for entry in entries:
            # Checksums of what is lost may well have survived.
            entry.write_text("")
        refused = flow.step("doctor", "after")
        assert refused.error is not None
        assert refused.error["code"] == "TornLogEntry"
        repair_checkpoint(flow.pipeline, planned_repairs(flow.pipeline), "repair")
        assert meaning({entry: entry.read_text() for entry in entries}) == meaning(entries)
        arrive(flow, then)
        flow.go("again")
    assert len([*plain.layout.home.rglob("9.compact")]) == 2
    assert sums(windows) == closed(minutes(range(1, 7)))
    read = sorted(int(n) for (n,) in plain.published("n"))
    assert read == sorted(minutes(range(1, 15)))
