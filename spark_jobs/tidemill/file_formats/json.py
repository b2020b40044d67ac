"""JSON files: their first values, and their rows as Spark wrote them."""

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from tidemill.file_formats.dropped_digits import Values, dropped_digits
from tidemill.file_formats.first_json_value import CHUNK_BYTES, is_followed_by_more
from tidemill.file_formats.lines import (
    BLANK,
    COMPRESSED,
    LineBlock,
    LineReader,
    count_of,
    first_line,
    lines_of,
)
from tidemill.file_formats.reader import REJECT, Columns
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.json import JSON
from tidemill.spec.sources.file import FileSource

# Where one object follows another on a line, or seems to.
_FOLLOWED = (b"}{", b"} {", b"}\t{")
_LENIENT = ("allowComments", "allowSingleQuotes", "allowUnquotedFieldNames")


class Json(LineReader):
    """JSON: of a file with `multiLine` Spark reads the first value and nothing after it."""

    rules = JSON
    if_part_read = (
        "Give each value a file of its own, or a line of its own and leave out options.multiLine; "
        "where the file was cut short, put the whole one in its place"
    )

    def part_read(self, path: Path, source: FileSource) -> str | None:
        lenient = any(source.is_on(option) for option in _LENIENT)
        if not source.is_on("multiLine") or lenient or path.suffix in COMPRESSED:
            return super().part_read(path, source)
        try:
            if is_followed_by_more(_utf8(path, source)):
                return "holds more than one JSON value, and multiLine reads the first one only"
        except (UnicodeError, LookupError):
            # Spark itself reports an encoding that does not fit.
            return None
        return None

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        line = None if source.is_on("multiLine") else first_line(path, source)
        try:
            value = None if line is None else json.loads(line)
        except (ValueError, RecursionError):
            # Spark itself reports a line that is not JSON.
            return iter(())
        return _not_named(value, source.types)

    def dropped_digits(self, path: Path, source: FileSource, wanted: Columns) -> Counter[str]:
        return dropped_digits(path, source, wanted, _exact_values)

    def _records(self, blocks: Iterator[bytes], source: FileSource) -> int | None:
        rows = 0
        for block in blocks:
            lines = LineBlock(block)
            # Blank lines may be among what Spark has read, and other values may be several rows.
            begins = {line.strip(BLANK)[:1] for line in lines.lines_beginning(b"{")}
            ends = {line.strip(BLANK)[-1:] for line in lines.lines_ending(b"}")}
            if not begins <= {b"{"} or not ends <= {b"}"}:
                return None
            # With one bracket a line nothing can follow; to count is faster than to search.
            flat = count_of(block, b"}") == len(lines)
            if not flat and any(objects in block for objects in _FOLLOWED):
                return None
            rows += len(lines)
        return rows

    def _rejects(self, path: Path, written: WriteFormat) -> Iterator[Any]:
        return (json.loads(line).get(REJECT) for line in lines_of(path, written))


def _exact_values(line: bytes) -> Values:
    try:
        value = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError):
        return ()
    return value.items() if isinstance(value, dict) else ()


def _not_named(value: Any, named: Columns, within: str = "") -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        # Spark tells the names of JSON fields apart by case.
        kind = named.get(name)
        if kind is None:
            yield f"{within}{name}"
        elif kind.name == "struct":
            yield from _not_named(inner, kind.fields, f"{within}{name}.")


def _utf8(path: Path, source: FileSource) -> Iterator[bytes]:
    """The text of a file in pieces, without the mark that may stand at its beginning."""
    encoding = source.encoding
    with path.open("rb") as content:
        pieces = iter(partial(content.read, CHUNK_BYTES), b"")
        if encoding.lower().replace("-", "") != "utf8":
            yield from (piece.encode() for piece in codecs.iterdecode(pieces, encoding))
            return
        yield next(pieces, b"").removeprefix(codecs.BOM_UTF8)
        yield from pieces
