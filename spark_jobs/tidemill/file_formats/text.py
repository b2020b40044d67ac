"""Text files: one column, a row a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidemill.file_formats.lines import LineReader, lines_of
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.text import TEXT


class Text(LineReader):
    """Text: a rejected row is its JSON in place of the row."""

    rules = TEXT

    def _rejects(self, path: Path, written: WriteFormat) -> Iterator[Any]:
        return map(json.loads, lines_of(path, written))
