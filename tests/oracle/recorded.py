"""What a pipeline wrote down of its batches, read as plain JSON and with none of our code.

From here the oracle takes which batch read which input, and which watermark each ran with. What
rows are late, final or rejected it works out by itself, from what it let arrive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

Row = dict[str, Any]


@dataclass(frozen=True)
class Taken:
    """A committed batch.

    Args:
        number: Its id.
        inputs: Source -> the names of the files, or the places of the records, that it read.
        watermark_ms: In force during the batch.
        next_watermark_ms: In force from the next one on.
    """

    number: int
    inputs: Mapping[str, tuple[str, ...]]
    watermark_ms: int
    next_watermark_ms: int


def batches(home: Path, generation: str) -> list[Taken]:
    """The committed batches of a generation, in order."""
    folder = home / "ledger" / generation
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    found.sort(key=lambda batch: int(batch["batch"]))
    before = [{}, *(batch["offsets"] for batch in found)]
    return [_taken(batch, offsets) for batch, offsets in zip(found, before, strict=False)]


def _taken(batch: Mapping[str, Any], before: Mapping[str, Any]) -> Taken:
    inputs: dict[str, list[str]] = {}
    for file in batch["inputs"]:
        inputs.setdefault(file["source"], []).append(Path(file["path"]).name)
    for source, offsets in batch["offsets"].items():
        for topic, ends in offsets.items():
            if isinstance(ends, dict):
                begins = before.get(source, {}).get(topic, {})
                inputs.setdefault(source, []).extend(
                    place(partition, offset)
                    for partition, end in ends.items()
                    for offset in range(begins.get(partition, 0), end)
                )
    return Taken(
        number=batch["batch"],
        inputs={source: tuple(found) for source, found in inputs.items()},
        watermark_ms=batch["watermark_before_ms"],
        next_watermark_ms=batch["watermark_after_ms"],
    )


def place(partition: int | str, offset: int) -> str:
    """Where a record is in a topic."""
    return f"{partition}/{offset}"


def last_published(home: Path, generation: str) -> int:
    """P, by the table's own transactions; -1 before the first.

    For a fork, the batch that it continues from, until one of its own is published.
    """
    if not DeltaTable.is_deltatable(str(home / "table")):
        return -1
    version = DeltaTable(home / "table").transaction_version(f"{home.name}/{generation}")
    return forked_from(home, generation) if version is None else version


def forked_from(home: Path, generation: str) -> int:
    """The last batch that a generation has of the one before it; -1 where it has none."""
    births = [json.loads(path.read_text()) for path in (home / "generations").glob("[0-9]*.json")]
    found = (birth["first"] - 1 for birth in births if birth["generation"] == generation)
    return next(found, -1)


def flushed(home: Path, generation: str) -> dict[int, int]:
    """Batch -> the watermark that a person gave it, in milliseconds."""
    folder = home / "ledger" / generation / "flushes"
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {flush["batch"]: flush["watermark_ms"] for flush in found}


def late(home: Path, generation: str) -> dict[int, int | None]:
    """Batch -> the rows that operators passed over as late; None where that is unknown."""
    folder = home / "ledger" / generation / "late"
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {
        one["batch"]: None if one["unknown"] else sum(count["rows"] for count in one["counts"])
        for one in found
    }
