"""The statistics of a Delta add: counts always, minimum and maximum only where no reader can err.

A maximum that was cut short, or one that leaves out NaN, makes data skipping drop files that hold
matching rows; so the footers give none for floating point and long strings.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from spark_jobs.ledger.footers import Footer


def delta_statistics(footer: Footer, columns: Collection[str]) -> str:
    """The `stats` of an add action, as JSON.

    Args:
        footer: Of the file.
        columns: The table's own columns; others in the file are left out.
    """
    null_count = {
        name: count
        for name, count in footer.null_counts.items()
        if name in columns and count is not None
    }
    both = [n for n in footer.min_values if n in columns and n in footer.max_values]
    return _object(
        {
            "numRecords": str(footer.rows),
            "minValues": _object({name: _text(footer.min_values[name]) for name in both}),
            "maxValues": _object({name: _text(footer.max_values[name]) for name in both}),
            "nullCount": _object({name: str(count) for name, count in null_count.items()}),
        }
    )


def _object(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}"


def _text(value: Any) -> str:
    """A value as JSON; a decimal digit by digit, because a float's rounding could move a bound."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return json.dumps(text + ("Z" if value.tzinfo else ""))
    if isinstance(value, date):
        return json.dumps(value.isoformat())
    return json.dumps(value)
