"""The header of an Avro file, and the rows that its blocks say they hold.

Just what can be told without decoding a row (Apache Avro 1.12 specification, object container
files): a file begins with a magic, a map of metadata and a marker that ends every block.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

MAGIC = b"Obj\x01"
MARKER_BYTES = 16


class NotAvro(ValueError):
    """A file is no whole Avro file."""


def avro_schema(path: Path) -> Any:
    """The schema that a file was written with, as JSON says it.

    Raises:
        NotAvro: it is empty, cut off or something else.
    """
    with path.open("rb") as content:
        return _header(content, path)


def avro_rows(path: Path) -> int:
    """The rows of a file, by the counts of its blocks.

    Raises:
        NotAvro: it is empty, cut off or something else.
    """
    rows = 0
    size = path.stat().st_size
    with path.open("rb") as content:
        _header(content, path)
        content.seek(-MARKER_BYTES, 1)
        marker = content.read(MARKER_BYTES)
        while content.tell() < size:
            rows += _long(content, path)
            content.seek(_long(content, path), 1)
            if content.read(MARKER_BYTES) != marker:
                msg = f"{path} ends within a block"
                raise NotAvro(msg)
    return rows


def _header(content: IO[bytes], path: Path) -> Any:
    if content.read(len(MAGIC)) != MAGIC:
        msg = f"{path} does not begin as an Avro file"
        raise NotAvro(msg)
    metadata: dict[bytes, bytes] = {}
    while entries := _long(content, path):
        if entries < 0:
            # A negative count is followed by the size of the entries.
            entries = -entries
            _long(content, path)
        for _ in range(entries):
            key = _bytes(content, path)
            metadata[key] = _bytes(content, path)
    if len(content.read(MARKER_BYTES)) < MARKER_BYTES or b"avro.schema" not in metadata:
        msg = f"{path} ends within its header"
        raise NotAvro(msg)
    try:
        return json.loads(metadata[b"avro.schema"])
    except ValueError as error:
        msg = f"{path} has a schema that is no JSON"
        raise NotAvro(msg) from error


def _bytes(content: IO[bytes], path: Path) -> bytes:
    length = _long(content, path)
    found = content.read(max(0, length))
    if len(found) != length:
        msg = f"{path} ends within its header"
        raise NotAvro(msg)
    return found


def _long(content: IO[bytes], path: Path) -> int:
    """A zigzag variable-length integer of at most ten bytes."""
    value = 0
    for shift in range(0, 70, 7):
        byte = content.read(1)
        if not byte:
            msg = f"{path} ends within a number"
            raise NotAvro(msg)
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
    msg = f"{path} has a number that is too long"
    raise NotAvro(msg)
