"""Files whose rows are lines of text, compressed or not: what CSV, JSON and text have in common."""

from __future__ import annotations

import bz2
import codecs
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tidemill.file_formats.reader import FormatReader
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.sources.file import FileSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Larger ones no longer stay in a processor's cache, and the system clears new memory for each.
CHUNK_BYTES = 2**18
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
        whole = source.is_on("multiLine") or source.is_on("wholetext")
        other = whole or source.reader_option("lineSep") or not has_one_byte_line_ends(source)
        if other or path.suffix in NOT_UNPACKED:
            return None
        return self._records(_blocks(path), source)

    def _records(self, blocks: Iterator[bytes], source: FileSource) -> int | None:
        """The rows that Spark makes of blocks of whole lines; one of each if not said otherwise."""
        return sum(count_of(block, b"\n") for block in blocks)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return count_lines(path, separator_of(written))


def separator_of(written: WriteFormat) -> bytes:
    """What ends each row that Spark wrote."""
    return written.option("lineSep", "\n").encode()


def has_one_byte_line_ends(source: FileSource) -> bool:
    """Whether lines can be told apart by bytes, without decoding them."""
    return source.encoding.lower().replace("-", "") in ONE_BYTE_LINE_ENDS


def first_line(path: Path, source: FileSource) -> str | None:
    """The first line of a file; None if it is compressed, too long or in another encoding."""
    if path.suffix in COMPRESSED:
        return None
    is_utf8 = source.encoding.lower() in ("utf-8", "utf8")
    try:
        # A mark may stand at the beginning.
        encoding = "utf-8-sig" if is_utf8 else source.encoding
        with path.open(encoding=encoding, newline=None) as content:
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


def count_of(text: bytes, sign: bytes) -> int:
    """How often a byte comes in a text; `bytes.count` takes twice as long."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == sign[0]))


@dataclass(frozen=True)
class LineBlock:
    """Whole lines, of which those that begin or end unlike the others are found fast.

    Args:
        text: Each line with a line feed at its end.
    """

    text: bytes

    def __len__(self) -> int:
        """The number of lines."""
        return len(self._ends)

    def lines_beginning(self, expected: bytes | None) -> Iterator[bytes]:
        """The lines that begin with another byte, or where None is given with a blank."""
        first = self._signs[self._begins]
        other = first <= BLANK[-1] if expected is None else first != expected[0]
        return self._lines(other)

    def lines_ending(self, expected: bytes) -> Iterator[bytes]:
        """The lines that end with another byte, without empty ones."""
        last = self._signs[self._ends - 1]
        return self._lines((last != expected[0]) & (self._ends > self._begins))

    @cached_property
    def _signs(self) -> NDArray[Any]:
        import numpy as np

        return np.frombuffer(self.text, np.uint8)

    @cached_property
    def _ends(self) -> NDArray[Any]:
        import numpy as np

        return np.flatnonzero(self._signs == ord("\n"))

    @cached_property
    def _begins(self) -> NDArray[Any]:
        import numpy as np

        return np.concatenate(([0], self._ends[:-1] + 1)) if len(self) else self._ends

    def _lines(self, chosen: NDArray[Any]) -> Iterator[bytes]:
        places = zip(self._begins[chosen].tolist(), self._ends[chosen].tolist(), strict=True)
        return (self.text[begin:end] for begin, end in places)


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
