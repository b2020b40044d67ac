"""The rows of text formats as Spark wrote them, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from tidemill.file_formats.written_format import WriteFormat

CHUNK_BYTES = 2**20


def whole_lines(path: Path, separator: bytes) -> Iterator[bytes]:
    """The content in chunks, each of which ends with a separator, as Spark ends every row.

    Raises:
        EOFError: the last row has no end, or what was packed ends early.
    """
    rest = b""
    for chunk in _content(path):
        whole, found, rest = (rest + chunk).rpartition(separator)
        if found:
            yield whole + found
    if rest:
        msg = "the last row has no end"
        raise EOFError(msg)


def count_lines(path: Path, separator: bytes) -> int:
    """Counts the rows of the content, in constant memory.

    Raises:
        EOFError: as for `whole_lines`.
    """
    lines, end, empty = 0, b"", True
    for chunk in filter(None, _content(path)):
        # What was seen of the end is too short to hold a separator that was counted.
        text = end[len(end) - len(separator) + 1 :] + chunk if len(separator) > 1 else chunk
        lines += text.count(separator)
        end, empty = text[-len(separator) :], False
    if not empty and end != separator:
        msg = "the last row has no end"
        raise EOFError(msg)
    return lines


def csv_rows(path: Path, written: WriteFormat) -> Iterator[bytes]:
    """The rows of a CSV file, without its header; inside quotes a line break ends none.

    Raises:
        EOFError: as for `whole_lines`.
    """
    dialect = Dialect(written)
    header = written.option("header", "false").lower() == "true"
    rest = b""
    for chunk in whole_lines(path, dialect.separator):
        rest += chunk
        begin = 0
        for found in dialect.token.finditer(rest):
            if found.group("end"):
                if not header:
                    yield rest[begin : found.start()]
                header = False
                begin = found.end()
        rest = rest[begin:]
    if rest:
        msg = "the last row has no end"
        raise EOFError(msg)


@dataclass(frozen=True)
class Dialect:
    """The options with which a CSV file was written.

    Args:
        written: Format and options.
    """

    written: WriteFormat

    @property
    def separator(self) -> bytes:
        """The separator of rows."""
        return self.written.option("lineSep", "\n").encode()

    @property
    def quote(self) -> bytes:
        return self.written.option("quote", '"').encode()

    @property
    def escape(self) -> bytes:
        return self.written.option("escape", "\\").encode()

    @cached_property
    def token(self) -> re.Pattern[bytes]:
        """A quoted field, one that goes on in the next chunk, or the end of a row."""
        quote, escape = re.escape(self.quote), re.escape(self.escape)
        if escape == quote:
            inside = rb"(?:[^%b]|%b%b)*+" % (quote, quote, quote)
        else:
            inside = rb"(?:[^%b%b]|%b.)*+" % (quote, escape, escape)
        tokens = (quote, inside, quote, re.escape(self.separator))
        return re.compile(rb"%b(?P<text>%b)(?:%b|\Z)|(?P<end>%b)" % tokens, re.DOTALL)

    def last_quoted(self, row: bytes) -> str:
        """The text of the last quoted field of a row.

        Raises:
            ValueError: it has none.
        """
        texts = [found.group("text") for found in self.token.finditer(row)]
        if not texts or texts[-1] is None:
            msg = f"no field is quoted in {row[:100]!r}"
            raise ValueError(msg)
        escaped = re.compile(re.escape(self.escape) + b"(.)", re.DOTALL)
        return escaped.sub(rb"\1", texts[-1]).decode()


def _content(path: Path) -> Iterator[bytes]:
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
