"""The statistics of a Delta add: counts, and minimum and maximum where all readers agree.

A maximum that was cut short, or one that leaves out NaN, makes data skipping drop files that hold
matching rows; so floating point has none. A file either has bounds for all of its columns or for
none: where some are missing, deltalake's Arrow dataset (1.6.6) compares those columns with null and
finds no row in the file.
"""

import json
from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tidemill.file_formats.parquet import Footer

# After as many characters Delta's own writers cut strings off.
LONGEST_STRING = 32
LAST_CHARACTER = "\U0010ffff"


def delta_statistics(footer: Footer, columns: Collection[str]) -> str:
    """The `stats` of an add action, as JSON.

    Args:
        columns: The table's own columns, without partitions; others in the file are left out, and
            one that the file lacks reads as null.
    """
    null_count = {name: _null_count(footer, name) for name in columns}
    counts = {name: str(count) for name, count in null_count.items() if count is not None}
    some = [name for name, count in null_count.items() if count != footer.rows]
    members = {"numRecords": str(footer.rows)}
    bounds = _bounds(footer, some)
    if bounds:
        members["minValues"] = _object({name: least for name, (least, _) in bounds.items()})
        members["maxValues"] = _object({name: most for name, (_, most) in bounds.items()})
    return _object({**members, "nullCount": _object(counts)})


def _null_count(footer: Footer, name: str) -> int | None:
    return footer.null_counts.get(name) if name in footer.schema.names else footer.rows


def _bounds(footer: Footer, columns: Collection[str]) -> dict[str, tuple[str, str]]:
    """Column -> minimum and maximum as JSON; for all columns that readers may skip by, or none."""
    found = {}
    for name in columns:
        least, most = footer.min_values.get(name), footer.max_values.get(name)
        if isinstance(least, str) and isinstance(most, str):
            least, most = least[:LONGEST_STRING], _not_less(most)
        if least is not None and most is not None:
            found[name] = (_text(least), _text(most))
        elif name in footer.null_counts and not pa.types.is_binary(footer.schema.field(name).type):
            return {}
    return found


def _not_less(text: str) -> str | None:
    """A short text that no text up to the given one exceeds."""
    if len(text) <= LONGEST_STRING:
        return text
    kept, rest = text[:LONGEST_STRING], text[LONGEST_STRING:]
    return None if rest.startswith(LAST_CHARACTER) else kept + LAST_CHARACTER


def _object(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{text}" for name, text in members.items()) + "}"


def _text(value: Any) -> str:
    """A value as JSON; a decimal digit by digit, because a float's rounding could move a bound."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return json.dumps(text + ("Z" if value.tzinfo else ""))
    if isinstance(value, date):
        return json.dumps(value.isoformat())
    return _quoted(value)


def _quoted(value: Any) -> str:
    # Unescaped: Polars does not put the pair of surrogates of an emoji together again, and with a
    # bound it misreads it drops files that match.
    return json.dumps(value, ensure_ascii=False)
