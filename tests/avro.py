"""A writer of small Avro files, as the specification of Apache Avro describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MARKER = b"0123456789abcdef"


def write_avro(
    path: Path, fields: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, block: int = 1000
) -> None:
    """Write rows of longs and strings.

    Args:
        path: Where.
        fields: Name -> `long`, `string` or a schema of which no row has a value.
        rows: Field -> value.
        block: Rows in each block.
    """
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    header = _long(1) + _bytes(b"avro.schema") + _bytes(json.dumps(schema).encode()) + _long(0)
    content = b"Obj\x01" + header + MARKER
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        data = b"".join(_value(row[name]) for row in some for name in fields)
        content += _long(len(some)) + _bytes(data) + MARKER
    path.write_bytes(content)


def _value(value: Any) -> bytes:
    return _bytes(value.encode()) if isinstance(value, str) else _long(value)


def _bytes(content: bytes) -> bytes:
    return _long(len(content)) + content


def _long(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    found = bytearray()
    while zigzag > 0x7F:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    found.append(zigzag)
    return bytes(found)
