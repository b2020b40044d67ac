"""Looks through all that is below a pipeline's folder for the rows of a condition."""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pyarrow as pa

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.file_formats.delta_log import LOG
from tidemill.file_formats.parquet import TornParquet
from tidemill.publish.delta.erasure import values_in_log
from tidemill.steps.upkeep.erase.condition import Condition, words_pattern
from tidemill.steps.upkeep.erase.row_file import RowFile, look_at
from tidemill.steps.upkeep.leftover import removals
from tidemill.storage.folders import walk

# So many objects are fetched at the same time; each is in memory, or a row group of it.
FETCHES = 8
# What only informs: values are taken out of it, or it is removed.
PAGES = ("docs",)
INFORMING = ("runs", "failures", "notices", "streams", "status.json")
TABLES = ("table", "rejected")
# Books that people's words stand in.
DECIDING = ("increments", "journal")
Kind = Literal["waste", "pages", "words", "stuck"]


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
    others: dict[Kind, list[Path]] = {"waste": [], "pages": [], "words": [], "stuck": []}
    files = [*_files(layout.home)]
    search = _Search(layout, condition, tuple(_spellings(condition.texts)), frozenset(files))
    with ThreadPoolExecutor(FETCHES if isinstance(layout.home, ObjectPath) else 1) as pool:
        for path, found in zip(files, pool.map(search.look, files), strict=True):
            if isinstance(found, RowFile):
                rows.append(found)
            elif found is not None:
                others[found].append(path)
    return Found(tuple(rows), *(tuple(one) for one in others.values()))


@dataclass(frozen=True)
class _Search:
    """A search in the files of a pipeline.

    Args:
        spelled: The texts of the condition as they stand in documents.
        files: All files below the folder.
    """

    layout: Layout
    condition: Condition
    spelled: Sequence[str]
    files: Collection[Path]

    def look(self, path: Path) -> RowFile | Kind | None:
        """What a file holds; None where it holds nothing."""
        part = path.relative_to(self.layout.home).parts[0]
        if removals(self.layout) in path.parents:
            return "waste"
        if path.parent.name != LOG and _is_parquet(path):
            try:
                found = look_at(path, self.condition)
            except TornParquet:
                return "waste" if part in TABLES else None
            return found if found is None or part in TABLES else "stuck"
        if not self.spelled:
            return None
        try:
            return _kind(path, part) if self._says(path) else None
        except pa.ArrowException:
            # A checkpoint of a Delta log that a power cut has torn: readers pass it over.
            return "waste"

    def _says(self, path: Path) -> bool:
        try:
            if path.parent.name == LOG and path.suffix in (".json", ".parquet"):
                text = values_in_log(path, self.files)
            else:
                text = path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return False
        return words_pattern(self.spelled).search(text) is not None


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


def _kind(path: Path, part: str) -> Kind:
    if part in PAGES:
        return "pages"
    named = part in (*INFORMING, *DECIDING) or path.parent.name == LOG
    return "words" if named else "stuck"


def _spellings(texts: Sequence[str]) -> Iterator[str]:
    """Texts as they stand in pages, in ASCII JSON and in addresses."""
    for text in texts:
        ways = (text, html.escape(text), json.dumps(text)[1:-1], quote(text), quote(text, safe=""))
        yield from dict.fromkeys(ways)
