"""What an XML file holds, read without Spark: its rows, their fields, and whether it is whole."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

from tidemill.file_formats.lines import content_of
from tidemill.file_formats.xml_row_marks import XmlRowMarks

_DECLARED = re.compile(r"^\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")
# A byte order mark is as good as a declaration; this one belongs to the encoding.
_WITH_MARK = {"utf-8": "utf-8-sig"}
# The longest end of a file in which its root's end is looked for.
_TAIL = 2**16


@dataclass
class XmlScan:
    """What was found in a file.

    Args:
        rows: The elements that are a row and are not within one.
        columns: The attributes and child elements of rows, each with whether it is an attribute.
        elements: The names of all elements outside rows.
        declared: The encoding that it declares.
        ascii: Whether it holds letters of ASCII alone, which all encodings have in common.
        error: Why it is not well-formed; None where it is.
        torn: It has an end before that of its first element.
        misread: What Spark would take for the beginning or end of a row, or not; None where
            nothing.
    """

    rows: int = 0
    columns: dict[tuple[str, bool], None] = field(default_factory=dict)
    elements: dict[str, None] = field(default_factory=dict)
    declared: str | None = None
    ascii: bool = True
    error: str | None = None
    torn: bool = False
    misread: str | None = None


def scan_xml(path: Path, row_tag: str, encoding: str) -> XmlScan:
    """Look through a file, unpacked.

    Args:
        row_tag: The name of the element that is a row.
        encoding: In which the file is read; what does not fit is passed over.

    Raises:
        OSError, EOFError, zlib.error: compressed content ends early, or cannot be read.
        LookupError: the encoding is one of Java's alone.
    """
    stat = path.stat()
    return _scan(path, row_tag, encoding, (stat.st_ino, stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=256)
def _scan(path: Path, row_tag: str, encoding: str, identity: object) -> XmlScan:
    walk = _Walk(row_tag)
    found, tail = walk.found, ""
    for text in _text(path, encoding):
        if not tail:
            declared = _DECLARED.search(text[:1000])
            found.declared = declared.group(1) if declared else None
        walk.marks.see(tail[-100:] + text)
        tail = (tail + text)[-_TAIL:]
        found.ascii = found.ascii and text.isascii()
        if found.error is None:
            found.error = walk.read(text, last=False)
    if found.error is None:
        found.error = walk.read("", last=True)
        found.torn = found.error is not None
    elif walk.root is not None:
        root = re.escape(walk.root)
        found.torn = re.search(rf"</{root}\s*>|<{root}[^<]*/>", tail) is None
    found.misread = walk.marks.misread
    return found


def _text(path: Path, encoding: str) -> Iterator[str]:
    name = codecs.lookup(encoding).name
    decoder = codecs.getincrementaldecoder(_WITH_MARK.get(name, name))(errors="replace")
    for chunk in content_of(path):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


class _Walk:
    """Follows the elements of a file, counting those that are rows."""

    def __init__(self, row_tag: str) -> None:
        self.row_tag = row_tag
        self.found = XmlScan()
        self.marks = XmlRowMarks(row_tag)
        self.root: str | None = None
        # How deep an element is in the row that it is part of.
        self.within = 0
        self._cdata: list[str] = []
        self._parser = parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartCdataSectionHandler = self._cdata_begins
        parser.EndCdataSectionHandler = self._cdata_ends

    def read(self, text: str, *, last: bool) -> str | None:
        """Why the file is not well-formed, as far as it was read."""
        try:
            self._parser.Parse(text, last)
        except expat.ExpatError as error:
            return str(error)
        return None

    def _start(self, name: str, attributes: list[str]) -> None:
        if name == self.row_tag:
            self.marks.attributes(attributes[1::2])
        if self.within:
            self.within += 1
            if self.within == 2:
                self.found.columns[(name, False)] = None
            return
        self.root = self.root or name
        if name == self.row_tag:
            self.within = 1
            self.found.rows += 1
            for attribute in attributes[::2]:
                self.found.columns[(attribute, True)] = None
        else:
            self.found.elements[name] = None

    def _end(self, name: str) -> None:
        if self.within:
            self.within -= 1

    def _comment(self, text: str) -> None:
        if self.within:
            self.marks.section(text)

    def _instruction(self, target: str, text: str) -> None:
        self.marks.section(text, alone=not self.within)

    def _cdata_begins(self) -> None:
        self._cdata.clear()
        self._parser.CharacterDataHandler = self._cdata.append

    def _cdata_ends(self) -> None:
        self._parser.CharacterDataHandler = None
        text = "".join(self._cdata)
        if self.within:
            self.marks.section(text)
        elif text.endswith("]"):
            self.marks.misread = "a CDATA section outside of rows that ends with ]]]>"
