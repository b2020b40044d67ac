"""A writer of small Avro files, as the specification of Apache Avro describes them."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

MARKER = b"0123456789abcdef"


PACK: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "snappy": lambda data: pa.compress(data, codec="snappy", asbytes=True) + bytes(4),
    "zstandard": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def write_avro(
    path: Path,
    fields: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    block: int = 1000,
    codec: str = "null",
) -> None:
    """Write rows of longs and strings.

    Args:
        path: Where.
        fields: Name -> `long`, `string`, or one of these after `null` in a list.
        rows: Field -> value.
        block: Rows in each block.
        codec: What blocks are packed with, by Avro's name.
    """
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    metadata = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec.encode()}
    entries = b"".join(_bytes(key) + _bytes(value) for key, value in metadata.items())
    header = _long(len(metadata)) + entries + _long(0)
    content = b"Obj\x01" + header + MARKER
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        data = b"".join(_field(row[name], fields[name]) for row in some for name in fields)
        content += _long(len(some)) + _bytes(PACK[codec](data)) + MARKER
    path.write_bytes(content)


def _field(value: Any, kind: Any) -> bytes:
    if isinstance(kind, str):
        return _value(value)
    return _long(0) if value is None else _long(1) + _value(value)


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
