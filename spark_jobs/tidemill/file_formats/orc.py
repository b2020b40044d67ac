"""ORC files: their schema, their number of rows, and their rejected rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow.orc import ORCFile

from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.reader import REJECT, REJECT_TYPE, FormatReader
from tidemill.file_formats.schema_fit import columns_not_named, is_by_position, misfits
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.orc import ORC
from tidemill.spec.sources.file import FileSource


class Orc(FormatReader):
    """ORC."""

    rules = ORC

    def misfits(
        self, path: Path, source: FileSource, wanted: Mapping[str, DdlType]
    ) -> Iterator[str]:
        return misfits(ORCFile(path).schema, wanted)

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        schema = ORCFile(path).schema
        return iter(()) if is_by_position(schema) else columns_not_named(schema, source.types)

    def rejects(self, path: Path, written: WriteFormat) -> pa.StructArray:
        column = ORCFile(path).read(columns=[REJECT]).column(REJECT)
        return pa.array(column.to_pylist(), REJECT_TYPE)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return int(ORCFile(path).nrows)
