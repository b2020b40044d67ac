"""ORC files: their schema, their number of rows, and their rejected rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow.orc import ORCFile

from tidemill.file_formats.reader import REJECT, REJECT_TYPE
from tidemill.file_formats.schema_fit import ArrowReader, is_by_position
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.orc import ORC
from tidemill.spec.sources.file import FileSource


class Orc(ArrowReader):
    """ORC."""

    rules = ORC

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        named = not is_by_position(self._schema(path))
        return super().new_columns(path, source) if named else iter(())

    def rejects(self, path: Path, written: WriteFormat) -> pa.StructArray:
        column = ORCFile(path).read(columns=[REJECT]).column(REJECT)
        return pa.array(column.to_pylist(), REJECT_TYPE)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return int(ORCFile(path).nrows)

    def _schema(self, path: Path) -> pa.Schema:
        return ORCFile(path).schema
