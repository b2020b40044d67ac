"""Files of which Spark would read a part only, without a word.

Hadoop's codecs for Snappy and LZ4 take the end of a file for the end of its content, wherever it
is; of a multi-line JSON file Spark reads the first value and nothing after it; and it passes over
an empty file, also where its format says that it cannot be one. (gzip, bzip2, deflate and zstd
tell, and the query fails.)
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from tidemill.file_formats.first_json_value import CHUNK_BYTES, is_followed_by_more
from tidemill.spec.sources.file import SELF_DESCRIBING, FileSource

_BLOCKS = frozenset({".snappy", ".lz4"})
COMPRESSED = frozenset({*_BLOCKS, ".bz2", ".deflate", ".gz", ".zst"})
_LZ4_BUFFER = 256 * 2**10
_LENIENT = ("allowComments", "allowSingleQuotes", "allowUnquotedFieldNames")


def part_read(path: Path, source: FileSource) -> str | None:
    """Why Spark would read only a part of a file; None where it reads all of it or says so.

    Args:
        path: The file's path.
        source: How Spark reads it.
    """
    if path.stat().st_size == 0:
        binary = source.format in SELF_DESCRIBING or path.suffix in COMPRESSED
        return "is empty, and no such file can be" if binary else None
    if source.format in SELF_DESCRIBING:
        return None
    if path.suffix in _BLOCKS:
        with path.open("rb") as content:
            size, snappy = path.stat().st_size, path.suffix == ".snappy"
            whole = _ends_with_a_block(content, size, snappy=snappy)
            return None if whole else "is cut short"
    if source.format == "json" and source.is_on("multiLine") and path.suffix not in COMPRESSED:
        return _after_the_first_value(path, source)
    return None


def _ends_with_a_block(content: IO[bytes], size: int, *, snappy: bool) -> bool:
    """Walk Hadoop's blocks: a length before packing, then chunks, each after its packed length.

    A file that was cut just between two blocks looks whole: nothing in it says how many there are.
    """
    position = 0
    while position < size:
        left, position = _number(content, position), position + 4
        while left > 0:
            packed, position = _number(content, position), position + 4
            unpacked = _unpacked(content) if snappy else left
            # Of LZ4 nobody knows how much of a block beyond its buffer is in one chunk.
            if not snappy and left > _LZ4_BUFFER:
                return True
            left -= max(1, unpacked)
            position += packed
    return position == size


def _number(content: IO[bytes], position: int) -> int:
    content.seek(position)
    return int.from_bytes(content.read(4))


def _unpacked(content: IO[bytes]) -> int:
    """How much a chunk of Snappy holds: the number of variable length that it begins with."""
    return sum((byte & 0x7F) << (7 * at) for at, byte in enumerate(_varint(content.read(5))))


def _varint(head: bytes) -> bytes:
    length = next((at + 1 for at, byte in enumerate(head) if byte < 0x80), len(head))
    return head[:length]


def _after_the_first_value(path: Path, source: FileSource) -> str | None:
    if any(source.is_on(option) for option in _LENIENT):
        return None
    try:
        if is_followed_by_more(_utf8(path, source)):
            return "holds more than one JSON value, and multiLine reads the first one only"
    except (UnicodeError, LookupError):
        # Of an encoding that does not fit, Spark says so by itself.
        return None
    return None


def _utf8(path: Path, source: FileSource) -> Iterator[bytes]:
    """The text of a file in pieces, without the mark that may stand at its beginning."""
    encoding = source.reader_option("encoding") or source.reader_option("charset") or "utf-8"
    with path.open("rb") as content:
        pieces = iter(partial(content.read, CHUNK_BYTES), b"")
        if encoding.lower().replace("-", "") != "utf8":
            yield from (piece.encode() for piece in codecs.iterdecode(pieces, encoding))
            return
        yield next(pieces, b"").removeprefix(codecs.BOM_UTF8)
        yield from pieces
