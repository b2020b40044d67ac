"""Files whose rows are lines of text, compressed or not: what CSV, JSON and text have in common."""

import bz2
import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tidemill.file_formats.reader import FormatReader
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.sources.file import FileSource

CHUNK_BYTES = 2**20
# The longest first line that is looked at.
MOST_BYTES = 2**16
# A file cut short fails Spark's query, but for Snappy and LZ4: Hadoop takes their end for the end
# of the content, and this is not detected.
COMPRESSED = frozenset({".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst"})

# No library is there to unpack these.
NOT_UNPACKED = frozenset({".lz4", ".snappy", ".zst"})
# Encodings, without hyphens, in which the bytes of a line's end stand for nothing else.
ONE_BYTE_LINE_ENDS = frozenset({"ascii", "iso88591", "latin1", "usascii", "utf8", "windows1252"})
# What Java's `trim` takes off.
BLANK = bytes(range(33))


class LineReader(FormatReader):
    """A format whose rows are lines."""

    def part_read(self, path: Path, source: FileSource) -> str | None:
        # A plain file may well be empty.
        return super().part_read(path, source) if path.suffix in COMPRESSED else None

    def records(self, path: Path, source: FileSource) -> int | None:
        plain = (encoding_of(source) or "utf-8").lower().replace("-", "") in ONE_BYTE_LINE_ENDS
        whole = source.is_on("multiLine") or source.is_on("wholetext")
        if whole or not plain or source.reader_option("lineSep") or path.suffix in NOT_UNPACKED:
            return None
        return self._records(_blocks(path), source)

    def _records(self, blocks: Iterator[bytes], source: FileSource) -> int | None:
        """The rows that Spark makes of blocks of whole lines; one of each if not said otherwise."""
        return sum(map(line_feeds, blocks))

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return count_lines(path, separator_of(written))


def separator_of(written: WriteFormat) -> bytes:
    """What ends each row that Spark wrote."""
    return written.option("lineSep", "\n").encode()


def encoding_of(source: FileSource) -> str | None:
    """The encoding that a source names."""
    return source.reader_option("encoding") or source.reader_option("charset")


def first_line(path: Path, source: FileSource) -> str | None:
    """The first line of a file; None if it is compressed, too long or in another encoding."""
    if path.suffix in COMPRESSED:
        return None
    try:
        with path.open(encoding=encoding_of(source) or "utf-8-sig", newline=None) as content:
            line = content.readline(MOST_BYTES)
    except (UnicodeError, LookupError):
        return None
    return line.rstrip("\n") if len(line) < MOST_BYTES else None


def lines_of(path: Path, written: WriteFormat) -> Iterator[bytes]:
    """The rows that Spark wrote, without what ends them.

    Raises:
        EOFError: as for `whole_lines`.
    """
    separator = separator_of(written)
    for lines in whole_lines(path, separator):
        yield from lines.removesuffix(separator).split(separator)


def whole_lines(path: Path, separator: bytes) -> Iterator[bytes]:
    """The content in chunks, each of which ends with a separator, as Spark ends every row.

    Raises:
        EOFError: the last row has no end, or compressed content ends early.
    """
    for lines in chunks_of_lines(path, separator):
        if not lines.endswith(separator):
            msg = "the last row has no end"
            raise EOFError(msg)
        yield lines


def chunks_of_lines(path: Path, separator: bytes) -> Iterator[bytes]:
    """The content in chunks of whole lines, the last one perhaps without a separator at its end.

    Raises:
        EOFError: compressed content ends early.
    """
    rest = b""
    for chunk in content_of(path):
        whole, found, rest = (rest + chunk).rpartition(separator)
        if found:
            yield whole + found
    if rest:
        yield rest


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines as Hadoop's reader cuts them, each with a line feed at its end."""
    rest, mark = b"", codecs.BOM_UTF8
    for chunk in content_of(path):
        text = (rest + chunk).removeprefix(mark)
        mark = b""
        # What follows may belong to the last line, or to its end.
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
        rest = text[end:]
        yield _with_line_feeds(text[:end])
    last = _with_line_feeds(rest)
    yield last if last.endswith(b"\n") or not last else last + b"\n"


def _with_line_feeds(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def line_feeds(block: bytes) -> int:
    """The number of lines of a block; `bytes.count` takes twice as long."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def lines_beginning(block: bytes, expected: bytes | None) -> Iterator[bytes]:
    """The lines of a block that begin with another byte, or where None is given with a blank.

    Lines that begin as expected, nearly all, cost a millisecond for some megabytes.
    """
    import numpy as np

    text = np.frombuffer(b"\n" + block, np.uint8)
    first = text[1:]
    other = first <= BLANK[-1] if expected is None else first != expected[0]
    for begin in np.flatnonzero((text[:-1] == ord("\n")) & other).tolist():
        yield block[begin : block.find(b"\n", begin)]


def lines_ending(block: bytes, expected: bytes) -> Iterator[bytes]:
    """The lines of a block that end with another byte, without empty ones."""
    import numpy as np

    text = np.frombuffer(block, np.uint8)
    before, after = text[:-1], text[1:]
    odd = (after == ord("\n")) & (before != expected[0]) & (before != ord("\n"))
    for end in (np.flatnonzero(odd) + 1).tolist():
        yield block[block.rfind(b"\n", 0, end) + 1 : end]


def count_lines(path: Path, separator: bytes) -> int:
    """Counts the rows of the content, in constant memory.

    Raises:
        EOFError: as for `whole_lines`.
    """
    lines, end, empty = 0, b"", True
    for chunk in filter(None, content_of(path)):
        # What was seen of the end is too short to hold a separator that was counted.
        text = end[len(end) - len(separator) + 1 :] + chunk if len(separator) > 1 else chunk
        lines += text.count(separator)
        end, empty = text[-len(separator) :], False
    if not empty and end != separator:
        msg = "the last row has no end"
        raise EOFError(msg)
    return lines


def content_of(path: Path) -> Iterator[bytes]:
    """The content of a file in chunks, unpacked if it is gzip, bzip2 or deflate."""
    if path.suffix == ".deflate":
        with path.open("rb") as compressed:
            yield from _inflated(compressed)
        return
    opened: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, Path.open)
    with opened(path, "rb") as content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def _inflated(content: IO[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj()
    while chunk := content.read(CHUNK_BYTES):
        # What is packed to a thousandth is unpacked in pieces too.
        while chunk:
            yield inflate.decompress(chunk, CHUNK_BYTES)
            chunk = inflate.unconsumed_tail
    yield inflate.flush()
    if not inflate.eof:
        msg = "the compressed content ends early"
        raise EOFError(msg)
