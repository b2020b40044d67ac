"""CSV files: their header, and their rows as Spark wrote them."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tidemill.file_formats.csv_line_breaks import line_of_open_quote
from tidemill.file_formats.dropped_digits import Values, dropped_digits
from tidemill.file_formats.lines import (
    BLANK,
    LineBlock,
    LineReader,
    first_line,
    separator_of,
    whole_lines,
)
from tidemill.file_formats.reader import Columns
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.csv import CSV
from tidemill.spec.sources.file import FileSource


class Csv(LineReader):
    """CSV: a row may go over lines, and a rejected one has its JSON in the last column."""

    rules = CSV
    if_part_read = (
        "Set options.multiLine: true of the source; where the file was cut short, put the whole "
        "one in its place"
    )

    def part_read(self, path: Path, source: FileSource) -> str | None:
        reason = super().part_read(path, source)
        if reason is not None or source.is_on("multiLine"):
            return reason
        line = line_of_open_quote(path, source)
        if line is None:
            return None
        return (
            f"has a line break inside quotes (line {line}), which would be two rows without "
            "options.multiLine: true"
        )

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        line = first_line(path, source) if source.is_on("header") else None
        separator = _separator(source)
        if line is None or len(separator) != 1:
            return
        named = {name.lower() for name in source.types}
        for name in next(csv.reader([line], delimiter=separator), []):
            if name.strip().lower() not in named:
                yield name.strip()

    def dropped_digits(self, path: Path, source: FileSource, wanted: Columns) -> Counter[str]:
        separator, quote = _separator(source), source.reader_option("quote") or '"'
        if len(separator) != 1 or len(quote) != 1:
            return Counter()

        def values(line: bytes) -> Values:
            text = line.decode(errors="replace")
            row = next(csv.reader([text], delimiter=separator, quotechar=quote), [])
            return zip(wanted, row, strict=False)

        return dropped_digits(path, source, wanted, values)

    def _records(self, blocks: Iterator[bytes], source: FileSource) -> int | None:
        comment = (source.reader_option("comment") or "").encode()
        rows = 0
        for block in blocks:
            lines = LineBlock(block)
            rows += len(lines)
            rows -= sum(not line.strip(BLANK) for line in lines.lines_beginning(None))
            if comment:
                rows -= (b"\n" + block).count(b"\n" + comment)
        return max(0, rows - 1) if source.is_on("header") else rows

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return sum(1 for _ in csv_rows(path, written))

    def _rejects(self, path: Path, written: WriteFormat) -> Iterator[Any]:
        dialect = Dialect(written)
        for row in csv_rows(path, written):
            yield json.loads(dialect.last_quoted(row))


def _separator(source: FileSource) -> str:
    return source.reader_option("sep") or source.reader_option("delimiter") or ","


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
        return separator_of(self.written)

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
