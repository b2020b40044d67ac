"""Finds line breaks inside the quotes of a CSV file, which Spark reads as the ends of rows.

With `multiLine` Spark reads them right, and a file in one piece; so that has to be asked for.
"""

import gzip
import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidemill.file_formats.lines import NOT_UNPACKED, chunks_of_lines, content_of
from tidemill.spec.sources.file import FileSource

# In other encodings a quote is not one byte of its own.
_LIKE_ASCII = re.compile(r"(?i)utf-?8|(us-)?ascii|(x-)?(iso|windows|cp|ibm|latin|mac|koi8).*")
_DEFAULT_QUOTE = '"'


def line_of_open_quote(path: Path, source: FileSource) -> int | None:
    """The first line that ends inside quotes which a later line closes.

    Args:
        path: The file.
        source: Its options say what quotes, separators and comments are.

    Returns:
        Its number from 1; None where there is none, or the file cannot be looked into.

    Raises:
        FileNotFoundError: it is gone.
    """
    quote = source.reader_option("quote")
    quote = _DEFAULT_QUOTE if quote is None else quote
    readable = path.suffix not in NOT_UNPACKED
    like_ascii = _LIKE_ASCII.fullmatch(source.encoding)
    if not readable or not like_ascii or len(quote) != 1 or not quote.isascii():
        return None
    quotes = _Quotes(
        quote.encode(),
        (source.reader_option("escape") or "\\").encode(),
        (source.reader_option("sep") or source.reader_option("delimiter") or ",").encode(),
        (source.reader_option("comment") or "").encode(),
        (source.reader_option("lineSep") or "\n").encode(),
    )
    try:
        return quotes.first_open(path)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        # Spark itself reports a file that was cut short.
        return None


@dataclass(frozen=True)
class _Quotes:
    """How a file is written, each as bytes; without a comment sign there are no comments."""

    quote: bytes
    escape: bytes
    separator: bytes
    comment: bytes
    end: bytes

    def first_open(self, path: Path) -> int | None:
        if not any(self.quote in chunk for chunk in content_of(path)):
            return None
        before, opened = 0, None
        for lines in chunks_of_lines(path, self.end):
            if opened is None and not self._has_odd_line(lines):
                before += lines.count(self.end)
                continue
            for line in lines.split(self.end):
                before += 1
                if not self._is_odd(line):
                    continue
                if opened is not None and self._closes(line):
                    return opened
                opened = before if self._opens(line) else None
            before -= 1
        return None

    def _has_odd_line(self, lines: bytes) -> bool:
        """Whether a line has an odd number of quotes; many times as fast as line by line."""
        if self.quote not in lines:
            return False
        if len(self.end) > 1:
            return True
        others = bytes(set(range(256)) - {*self.quote, *self.end})
        pairs = self.quote * 2
        return self.quote in self._unescaped(lines).translate(None, others).replace(pairs, b"")

    def _is_odd(self, line: bytes) -> bool:
        return self._unescaped(line).count(self.quote) % 2 == 1

    def _unescaped(self, text: bytes) -> bytes:
        """The text without escaped quotes; doubled ones come in pairs anyway."""
        if self.escape == self.quote or self.escape not in text:
            return text
        return text.replace(self.escape * 2, b"").replace(self.escape + self.quote, b"")

    def _opens(self, line: bytes) -> bool:
        """Whether a field that begins with a quote has no end in its line."""
        if self.comment and line.startswith(self.comment):
            return False
        text, at = self._unescaped(line), 0
        while at >= 0:
            if text.startswith(self.quote, at):
                closed = self._rest_of_field.match(text, at + 1)
                if closed is None:
                    return True
                at = closed.end()
            at = text.find(self.separator, at)
            at += len(self.separator) if at >= 0 else 0
        return False

    def _closes(self, line: bytes) -> bool:
        """Whether a quote of a line ends a field that was open when the line began."""
        text = self._unescaped(line)
        closed = self._rest_of_field.match(text)
        rest = text[closed.end() :].lstrip(b" \t\r") if closed else b"none"
        return not rest or rest.startswith(self.separator)

    @cached_property
    def _rest_of_field(self) -> re.Pattern[bytes]:
        """What follows the quote at a field's beginning, up to the one at its end."""
        quote = re.escape(self.quote)
        return re.compile(rb"(?:[^%b]|%b%b)*+%b" % (quote, quote, quote, quote))
