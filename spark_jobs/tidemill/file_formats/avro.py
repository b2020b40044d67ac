"""The header of an Avro file, the rows that its blocks say they hold, and one column of text.

Just as much of the Apache Avro 1.12 specification (object container files): a file begins with a
magic, a map of metadata and a marker that ends every block.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

MAGIC = b"Obj\x01"
MARKER_BYTES = 16
# A length is believed before anything is read, so that a made-up one would ask for that memory.
LONGEST_METADATA = 16 * 2**20


class NotAvro(ValueError):
    """A file is no whole Avro file."""


def avro_schema(path: Path) -> Any:
    """The schema that a file was written with, as JSON says it.

    Raises:
        NotAvro: it is empty, cut off or something else.
    """
    with path.open("rb") as content:
        return _header(content, path)[0]


def avro_rows(path: Path) -> int:
    """The rows of a file, by the counts of its blocks.

    Raises:
        NotAvro: it is empty, cut off or something else.
    """
    with path.open("rb") as content:
        return sum(rows for rows, _ in _blocks(content, path))


def avro_texts(path: Path, column: str) -> Iterator[str | None]:
    """A column of text, of rows in which every other column is null, as with rejected ones.

    Raises:
        NotAvro: it is cut off, or another column holds something.
    """
    with path.open("rb") as content:
        schema, codec = _header(content, path)
        content.seek(0)
        for rows, packed in _blocks(content, path):
            block = io.BytesIO(_unpacked(packed, codec, path))
            for _ in range(rows):
                yield _only_text(block, schema["fields"], column, path)


def _only_text(block: IO[bytes], fields: list[Any], column: str, path: Path) -> str | None:
    found = None
    for field in fields:
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        kind = kinds[_long(block, path) if len(kinds) > 1 else 0]
        if kind == "string" and field["name"] == column:
            found = _bytes(block, path).decode()
        elif kind != "null":
            msg = f"{path} holds something in column {field['name']}"
            raise NotAvro(msg)
    return found


def _unpacked(packed: bytes, codec: str, path: Path) -> bytes:
    if codec == "null":
        return packed
    if codec == "deflate":
        return zlib.decompress(packed, wbits=-15)
    if codec == "bzip2":
        return bz2.decompress(packed)
    if codec == "xz":
        return lzma.decompress(packed)
    if codec == "snappy":
        # A checksum follows; the content begins with its length, as numbers are not in Avro.
        length = sum((byte & 0x7F) << (7 * at) for at, byte in enumerate(_varint(packed)))
        return bytes(pa.decompress(packed[:-4], length, codec="snappy", asbytes=True))
    if codec == "zstandard":
        with pa.CompressedInputStream(pa.py_buffer(packed), "zstd") as unpacked:
            return bytes(unpacked.read())
    msg = f"{path} is packed as {codec}"
    raise NotAvro(msg)


def _varint(head: bytes) -> bytes:
    length = next(at + 1 for at, byte in enumerate(head) if byte < 0x80)
    return head[:length]


def _blocks(content: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """The rows and the packed content of each block."""
    size = path.stat().st_size
    _header(content, path)
    content.seek(-MARKER_BYTES, 1)
    marker = content.read(MARKER_BYTES)
    while content.tell() < size:
        rows = _long(content, path)
        packed = content.read(_long(content, path))
        if content.read(MARKER_BYTES) != marker:
            msg = f"{path} ends within a block"
            raise NotAvro(msg)
        yield rows, packed


def _header(content: IO[bytes], path: Path) -> tuple[Any, str]:
    """The schema, and the name of the codec that blocks are packed with."""
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
            key = _bytes(content, path, LONGEST_METADATA)
            metadata[key] = _bytes(content, path, LONGEST_METADATA)
    if len(content.read(MARKER_BYTES)) < MARKER_BYTES or b"avro.schema" not in metadata:
        msg = f"{path} ends within its header"
        raise NotAvro(msg)
    try:
        schema = json.loads(metadata[b"avro.schema"])
    except (ValueError, RecursionError) as error:
        msg = f"{path} has a schema that is no JSON"
        raise NotAvro(msg) from error
    return schema, metadata.get(b"avro.codec", b"null").decode()


def _bytes(content: IO[bytes], path: Path, longest: int = sys.maxsize) -> bytes:
    length = _long(content, path)
    if length > longest:
        msg = f"{path} has a header with a field of {length:,} bytes"
        raise NotAvro(msg)
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
