"""What a pipeline wrote down of its batches, read as plain JSON and with none of our code.

From here the oracle takes which batch read which input, and which watermark each ran with. What
rows are late, final or rejected it works out by itself.
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
        lines: Source -> the lines of the files that it read, as they are.
        watermark_ms: In force during the batch.
        next_watermark_ms: In force from the next one on.
    """

    number: int
    lines: Mapping[str, tuple[str, ...]]
    watermark_ms: int
    next_watermark_ms: int


def batches(home: Path) -> list[Taken]:
    """The committed batches of a pipeline's first generation, in order."""
    found = [json.loads(path.read_text()) for path in (home / "ledger/live-0001").glob("*.json")]
    return [_taken(batch) for batch in sorted(found, key=lambda batch: int(batch["batch"]))]


def _taken(batch: Mapping[str, Any]) -> Taken:
    lines: dict[str, list[str]] = {}
    for file in batch["inputs"]:
        text = Path(file["path"]).read_text()
        lines.setdefault(file["source"], []).extend(text.splitlines())
    return Taken(
        number=batch["batch"],
        lines={source: tuple(found) for source, found in lines.items()},
        watermark_ms=batch["watermark_before_ms"],
        next_watermark_ms=batch["watermark_after_ms"],
    )


def last_published(home: Path) -> int:
    """P, by the table's own transactions; -1 before the first."""
    if not DeltaTable.is_deltatable(str(home / "table")):
        return -1
    version = DeltaTable(home / "table").transaction_version(f"{home.name}/live-0001")
    return -1 if version is None else version


def flushed(home: Path) -> dict[int, int]:
    """Batch -> the watermark that a person gave it, in milliseconds."""
    folder = home / "ledger/live-0001/flushes"
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {flush["batch"]: flush["watermark_ms"] for flush in found}
