"""XML files: whether they are whole, and which fields their rows have."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from tidemill.file_formats.lines import NOT_UNPACKED
from tidemill.file_formats.reader import Columns, FormatReader
from tidemill.file_formats.xml_scan import XmlScan, scan_xml
from tidemill.spec.formats.xml import XML
from tidemill.spec.sources.file import FileSource


class Xml(FormatReader):
    """XML: of a file that was cut short between two rows Spark reads those that are left."""

    rules = XML
    if_part_read = (
        "Write the rows' tags as <row …>…</row>, where the file was cut short put the whole one in "
        "its place"
    )

    def part_read(self, path: Path, source: FileSource) -> str | None:
        empty = super().part_read(path, source)
        found = None if empty else _scan(path, source)
        if found is None:
            return empty
        if found.torn:
            return f"ends before its first element does ({found.error})"
        if found.error and not found.rows and not found.elements:
            return f"is not XML in {source.encoding} ({found.error})"
        return found.misread and f"has {found.misread}, which Spark takes for something else"

    def misfits(self, path: Path, source: FileSource, wanted: Columns) -> Iterator[str]:
        found = _scan(path, source)
        if found is None:
            return
        other = found.declared and _codec(found.declared) != _codec(source.encoding)
        if other and not found.ascii:
            yield (
                f"it declares the encoding {found.declared} and is read as {source.encoding}; set "
                "options.encoding"
            )
        tag = _row_tag(source)
        near = [name for name in found.elements if _local(name) == _local(tag)]
        if not found.rows and near:
            yield f"its rows are <{near[0]}>, and options.rowTag says <{tag}>"

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        found = _scan(path, source)
        if found is None or source.reader_option("wildcardColName"):
            return
        named = {name.lower() for name in source.types}
        prefix = source.reader_option("attributePrefix") or "_"
        without_namespace = source.is_on("ignoreNamespace")
        attributes = not source.is_on("excludeAttribute")
        for name, is_attribute in found.columns:
            # What says which names are meant is not read as a column.
            if name.startswith(("xmlns", "xsi:")) or (is_attribute and not attributes):
                continue
            plain = name.rpartition(":")[2] if without_namespace else name
            column = f"{prefix}{plain}" if is_attribute else plain
            if column.lower() not in named:
                yield column

    def records(self, path: Path, source: FileSource) -> int | None:
        found = _scan(path, source)
        # Spark makes rows of what is not well-formed by rules of its own.
        return None if found is None or found.error else found.rows


def _scan(path: Path, source: FileSource) -> XmlScan | None:
    """What a file holds; None where only Java unpacks or decodes it."""
    if path.suffix in NOT_UNPACKED or _codec(source.encoding) is None:
        return None
    return scan_xml(path, _row_tag(source), source.encoding)


def _row_tag(source: FileSource) -> str:
    return str(source.reader_option("rowTag"))


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _codec(encoding: str) -> str | None:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return None
