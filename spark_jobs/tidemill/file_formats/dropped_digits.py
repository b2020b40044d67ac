"""Numbers in text with more digits than their decimal has places for.

Spark rounds such a number half up, and says nothing (4.2): 1.239 is 1.24 under decimal(10,2).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Context, Decimal, InvalidOperation
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.lines import (
    NOT_UNPACKED,
    ONE_BYTE_LINE_ENDS,
    chunks_of_lines,
    encoding_of,
)
from tidemill.spec.sources.file import FileSource

# A line takes a microsecond or two, and where other columns have long fractions each line is looked
# at: for whole files that would take longer than Spark does.
MOST_LINES = 5_000
_EXACT = Context(prec=2000)

Values = Iterable[tuple[str, Any]]


def dropped_digits(
    path: Path,
    source: FileSource,
    wanted: Mapping[str, DdlType],
    values: Callable[[bytes], Values],
) -> Counter[str]:
    """Counts the values of a file that lose digits, among its first lines with such fractions.

    Args:
        path: The file.
        source: How it is read.
        wanted: The columns that the file has to hold -> their types.
        values: The columns of a line with their values, as text or exact numbers.

    Returns:
        Column -> values; empty where the file cannot be looked into.
    """
    places = {name: kind.scale for name, kind in wanted.items() if kind.name == "decimal"}
    plain = (encoding_of(source) or "utf-8").lower().replace("-", "") in ONE_BYTE_LINE_ENDS
    other = any(source.reader_option(option) for option in ("lineSep", "locale"))
    if not places or not plain or other or source.is_on("multiLine"):
        return Counter()
    if path.suffix in NOT_UNPACKED:
        return Counter()
    lines = islice(_with_digits(path, min(places.values())), MOST_LINES)
    return Counter(
        name
        for name, value in chain.from_iterable(map(values, lines))
        if name in places and _is_cut(value, places[name])
    )


def _with_digits(path: Path, places: int) -> Iterator[bytes]:
    """The lines with a number that has more digits after the point, or an exponent below zero."""
    searches = (re.compile(rb"\.[0-9]{%d}" % (places + 1)), re.compile(rb"[eE]-[0-9]"))
    for block in chunks_of_lines(path, b"\n"):
        # Two searches, each from a fixed first sign, are many times faster than one for both.
        begins = {
            block.rfind(b"\n", 0, found.start()) + 1
            for search in searches
            for found in search.finditer(block)
        }
        for begin in sorted(begins):
            yield block[begin : block.find(b"\n", begin) % (len(block) + 1)].rstrip(b"\r\n")


def _is_cut(value: Any, places: int) -> bool:
    try:
        number = Decimal(value)
        return number.is_finite() and number != number.quantize(
            Decimal(1).scaleb(-places), context=_EXACT
        )
    except (InvalidOperation, TypeError, ValueError):
        # Spark itself rejects any other text.
        return False
