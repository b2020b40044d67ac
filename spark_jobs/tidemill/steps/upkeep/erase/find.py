"""Looks through all that is below a pipeline's folder for the rows of a condition."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import LOG
from tidemill.file_formats.parquet import TornParquet
from tidemill.publish.delta.erasure import values_in_log
from tidemill.steps.upkeep.erase.condition import Condition, words_pattern
from tidemill.steps.upkeep.erase.row_file import RowFile, look_at
from tidemill.steps.upkeep.leftover import removals
from tidemill.storage.folders import walk

# What only informs: values are taken out of it, or it is removed.
PAGES = ("docs",)
INFORMING = ("runs", "failures", "notices", "streams", "status.json")
TABLES = ("table", "rejected")
# Books that people's words stand in.
DECIDING = ("increments", "journal")


@dataclass(frozen=True)
class Found:
    """What holds rows or values of a condition.

    Args:
        rows: Files of rows in the tables' folders.
        waste: Files there, and checkpoints of their logs, that are not whole; and what a killed
            process was removing.
        pages: Pages of Data Docs and results that they are made of.
        words: Documents that values are to be taken out of.
        stuck: What cannot be written again: copies of static inputs, names of input files in logs.
    """

    rows: tuple[RowFile, ...]
    waste: tuple[Path, ...]
    pages: tuple[Path, ...]
    words: tuple[Path, ...]
    stuck: tuple[Path, ...]

    @property
    def paths(self) -> list[Path]:
        """Every file that holds something, in order."""
        rows = (one.path for one in self.rows)
        return sorted({*rows, *self.waste, *self.pages, *self.words, *self.stuck})

    def of_sinks(self, layout: Layout) -> list[RowFile]:
        """Those that Spark has written; the others hold copies of their rows."""
        return [one for one in self.rows if in_sink(layout, one.path)]


def find(layout: Layout, condition: Condition) -> Found:
    """Look at every file below a pipeline's folder.

    Raises:
        NotErasable: a file's values cannot be compared.
    """
    rows: list[RowFile] = []
    others: dict[str, list[Path]] = {"waste": [], "pages": [], "words": [], "stuck": []}
    spelled = tuple(_spellings(condition.texts))
    for path in _files(layout.home):
        part = path.relative_to(layout.home).parts[0]
        if removals(layout) in path.parents:
            others["waste"].append(path)
        elif path.parent.name != LOG and _is_parquet(path):
            try:
                found = look_at(path, condition)
            except TornParquet:
                others["waste"] += [path] if part in TABLES else []
                continue
            if found is not None and part in TABLES:
                rows.append(found)
            elif found is not None:
                others["stuck"].append(path)
        elif spelled:
            try:
                kind = _kind(path, part) if _says(path, spelled) else None
            except pa.ArrowException:
                # A checkpoint of a Delta log that a power cut has torn: readers pass it over.
                kind = "waste"
            if kind is not None:
                others[kind].append(path)
    return Found(tuple(rows), *(tuple(one) for one in others.values()))


def _is_parquet(path: Path) -> bool:
    # Also a draft of one: its name goes on.
    return ".parquet" in path.name


def in_sink(layout: Layout, path: Path) -> bool:
    """Whether a file is in a sink's folder, and not the table's own."""
    if not path.is_relative_to(layout.table):
        return False
    first = path.relative_to(layout.table).parts[0]
    return first.startswith("_") and "=" not in first


def _files(home: Path) -> Iterator[Path]:
    for place, _, names in walk(home):
        for name in sorted(names):
            # A checksum holds nothing, and ends as the file does that it is of.
            if not name.endswith(".parquet.crc"):
                yield place / name


def _kind(path: Path, part: str) -> str:
    if part in PAGES:
        return "pages"
    named = part in (*INFORMING, *DECIDING) or path.parent.name == LOG
    return "words" if named else "stuck"


def _says(path: Path, spelled: Sequence[str]) -> bool:
    try:
        if path.parent.name == LOG and path.suffix in (".json", ".parquet"):
            text = values_in_log(path)
        else:
            text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return False
    return words_pattern(spelled).search(text) is not None


def _spellings(texts: Sequence[str]) -> Iterator[str]:
    """Texts as they stand in pages, in ASCII JSON and in addresses."""
    for text in texts:
        ways = (text, html.escape(text), json.dumps(text)[1:-1], quote(text), quote(text, safe=""))
        yield from dict.fromkeys(ways)
