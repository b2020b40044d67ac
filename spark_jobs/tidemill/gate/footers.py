"""What the footers of Parquet files say of the rows that are judged, so that no scan has to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from tidemill.file_formats.parquet import Footer, read_footers
from tidemill.file_formats.written_format import PARQUET
from tidemill.gate.columns import Column
from tidemill.gate.sample import Metric, SampleFile

ROW_COUNT: Metric = ("table.row_count", None)
# A NaN is judged as null, and no footer counts it.
_WITHOUT_NULLS_OF_THEIR_OWN = ("integer", "decimal", "string", "boolean", "date", "timestamp")
# The order of times of a zone is not that of its clock, and bounds of texts may be cut off.
_CALENDARS_AGREE = date(1582, 10, 15)
_BOUNDED = ("integer", "decimal", "date")


def known_metrics(
    files: Sequence[SampleFile], columns: Mapping[str, Column]
) -> Mapping[Metric, Any]:
    """Row count, null counts and extremes, as Great Expectations would find them by a scan.

    Args:
        files: What is judged; where some are of another format nothing is known.
        columns: The columns that are judged.
    """
    if not files or any(file.written.format != PARQUET.format for file in files):
        return {}
    footers = read_footers([file.path for file in files])
    rows = sum(footer.rows for footer in footers)
    if not rows:
        return {}
    footers = tuple(footer for footer in footers if footer.rows)
    known: dict[Metric, Any] = {ROW_COUNT: rows}
    for name, column in columns.items():
        known |= _of_column(name, column, rows, footers)
    return known


def _of_column(
    name: str, column: Column, rows: int, footers: Sequence[Footer]
) -> Mapping[Metric, Any]:
    nulls = [footer.null_counts.get(name) for footer in footers]
    if column.kind not in _WITHOUT_NULLS_OF_THEIR_OWN or None in nulls:
        return {}
    null = sum(filter(None, nulls))
    known: dict[Metric, Any] = {
        ("column_values.nonnull.unexpected_count", name): null,
        ("column_values.null.unexpected_count", name): rows - null,
        ("column.non_null_count", name): rows - null,
    }
    some = [footer for footer in footers if footer.null_counts[name] != footer.rows]
    if column.kind in _BOUNDED and all(name in footer.min_values for footer in some):
        least = min((footer.min_values[name] for footer in some), default=None)
        most = max((footer.max_values[name] for footer in some), default=None)
        if not isinstance(least, date) or least > _CALENDARS_AGREE:
            known |= {("column.min", name): _said(least), ("column.max", name): _said(most)}
    return known


def _said(value: Any) -> Any:
    """A value of a footer as Great Expectations keeps it."""
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else value
