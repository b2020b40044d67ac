"""Where Spark sees the beginning or end of a row of XML in another place than an XML parser does.

Spark finds rows by their text, sign by sign (`XmlTokenizer`, 4.2): a row begins with `<row>` or
with `<row` and a blank, and ends with `</row>`, or with `/>` in its first tag. What is written
otherwise, or stands in a CDATA section or an attribute, it would miss or cut in two without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class XmlRowMarks:
    """Finds such places.

    Args:
        row_tag: The name of the element that is a row.

    Attributes:
        misread: What was found; None as long as nothing was.
    """

    def __init__(self, row_tag: str) -> None:
        self.misread: str | None = None
        tag = re.escape(row_tag)
        self._odd = re.compile(rf"</{tag}\s+>|<{tag}/>")
        self._mark = re.compile(rf"<{tag}[\s>]|</{tag}>")

    def see(self, text: str) -> None:
        """Look for tags that are written as Spark does not know them."""
        odd = self._odd.search(text)
        if odd is not None:
            self.misread = f"the tag {odd.group()!r}"

    def attributes(self, values: Iterable[str]) -> None:
        """Look at the values of a row's attributes."""
        if any("/>" in value for value in values):
            self.misread = "an attribute of a row with /> in it"

    def section(self, text: str, *, alone: bool = False) -> None:
        """Look at a CDATA section, a comment or a processing instruction, which are not elements.

        Args:
            alone: It stands outside of rows, where each of these marks is one too many.
        """
        marks = [found.group() for found in self._mark.finditer(text)]
        depth = 0
        for mark in marks:
            depth += -1 if mark.startswith("</") else 1
            if depth < 0:
                break
        if marks and (alone or depth != 0):
            self.misread = f"{marks[0]!r} where no element is"
