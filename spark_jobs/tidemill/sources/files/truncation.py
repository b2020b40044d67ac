"""Files of which Spark would silently read only a part.

Spark reads the first value of a multi-line JSON file and nothing after it, and passes over an empty
file even where its format has none. A text that is packed and cut short fails the query, but for
Snappy and LZ4: Hadoop takes their end for the end of the content, and this is not detected.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tidemill.file_formats.first_json_value import CHUNK_BYTES, is_followed_by_more
from tidemill.spec.sources.file import FileSource

COMPRESSED = frozenset({".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst"})
_LENIENT = ("allowComments", "allowSingleQuotes", "allowUnquotedFieldNames")


def part_read(path: Path, source: FileSource) -> str | None:
    """The reason why Spark would silently read only a part of a file; None if it would not.

    Args:
        path: The file's path.
        source: How Spark reads it.
    """
    if path.stat().st_size == 0:
        binary = source.rules.self_describing or path.suffix in COMPRESSED
        return "is empty, and no such file can be" if binary else None
    if source.rules.self_describing:
        return None
    if source.format == "json" and source.is_on("multiLine") and path.suffix not in COMPRESSED:
        return _after_the_first_value(path, source)
    return None


def _after_the_first_value(path: Path, source: FileSource) -> str | None:
    if any(source.is_on(option) for option in _LENIENT):
        return None
    try:
        if is_followed_by_more(_utf8(path, source)):
            return "holds more than one JSON value, and multiLine reads the first one only"
    except (UnicodeError, LookupError):
        # Spark itself reports an encoding that does not fit.
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
