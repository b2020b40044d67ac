"""Rows of a small table, good and rejected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = Mapping[str, Any]

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("text", pa.string()),
    ]
)
BY_DAY = {"day": pa.date32()}
REJECT = pa.struct(
    [
        ("reason", pa.string()),
        ("file", pa.string()),
        ("record", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
    ]
)


def row(number: int, day: date | None = date(2024, 1, 1), **changes: Any) -> dict[str, Any]:
    """A row of the default columns that tells itself apart by its number."""
    return {
        "id": number,
        "amount": Decimal(number) + Decimal("0.25"),
        "at": datetime(2024, 1, 1, 12, tzinfo=UTC),
        "text": f"row {number}",
        "day": day,
        **changes,
    }


def rows(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    return [row(number, **changes) for number in numbers]


def reject(record: str, reason: str = "malformed", **partition: str) -> dict[str, Any]:
    """A rejected row."""
    said = {"reason": reason, "file": "file:///in/x.csv", "record": record}
    return {**said, "partition": list(partition.items())}
