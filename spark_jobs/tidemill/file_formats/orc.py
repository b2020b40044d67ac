"""ORC files: their schema, their number of rows, and their rejected rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow.orc import ORCFile

from tidemill.file_formats.reader import REJECT, REJECT_TYPE
from tidemill.file_formats.schema_fit import ArrowReader, is_by_position, with_types
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.orc import ORC
from tidemill.spec.sources.file import FileSource

SPARK_TYPE = b"spark.sql.catalyst.type"


class Orc(ArrowReader):
    """ORC."""

    rules = ORC
    if_without_zone = (
        "Write it as timestamp with local time zone; of this one Spark makes a time of whatever "
        "zone the machine is in."
    )

    def new_columns(self, path: Path, source: FileSource) -> Iterator[str]:
        named = not is_by_position(self._schema(path))
        return super().new_columns(path, source) if named else iter(())

    def records(self, path: Path, source: FileSource) -> int | None:
        return int(ORCFile(path).nrows)

    def rejects(self, path: Path, written: WriteFormat) -> pa.StructArray:
        column = ORCFile(path).read(columns=[REJECT]).column(REJECT)
        return pa.array(column.to_pylist(), REJECT_TYPE)

    def _rows(self, path: Path, written: WriteFormat) -> int:
        return int(ORCFile(path).nrows)

    def _schema(self, path: Path) -> pa.Schema:
        return pa.schema(with_types(ORCFile(path).schema, _of_spark))


def _of_spark(field: pa.Field) -> pa.DataType:
    """The type that Spark notes beside a timestamp that it writes; ORC has only one without."""
    noted = (field.metadata or {}).get(SPARK_TYPE)
    if noted == b"timestamp":
        return pa.timestamp("ns", "UTC")
    if noted == b"timestamp_ntz":
        return pa.timestamp("us")
    return field.type
