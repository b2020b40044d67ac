"""The footer of a Parquet file: rows, sizes, schema and statistics.

Bounds are kept only where no engine can be misled by them: a NaN is in no footer's minimum or
maximum but sorts above all in Spark, and a wrong maximum lets data skipping drop a file that has
matching rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.reader import REJECT, Measured, MissingDataFile
from tidemill.file_formats.schema_fit import ArrowReader, with_types
from tidemill.file_formats.written_format import WriteFormat
from tidemill.spec.formats.parquet import PARQUET
from tidemill.spec.sources.file import FileSource


class TornParquet(Refused):
    """A file is not a whole Parquet file; carries `file`, `size` in bytes and `reason`."""


@dataclass(frozen=True)
class Footer:
    """The footer of one Parquet file.

    Args:
        null_counts: Flat column -> its nulls, None where a row group does not say. Columns inside
            structs, lists and maps are in none of these three.
        min_values: Flat column -> its least value, for the types that cannot mislead. For a string
            it is a lower bound: Parquet's writers may cut long ones off.
        max_values: The same columns -> their greatest value, or an upper bound.
    """

    rows: int
    size: int
    uncompressed_bytes: int
    schema: pa.Schema
    null_counts: Mapping[str, int | None]
    min_values: Mapping[str, Any]
    max_values: Mapping[str, Any]


class Parquet(ArrowReader):
    """Parquet, whose footer tells rows and sizes."""

    rules = PARQUET

    def records(self, path: Path, source: FileSource) -> int | None:
        return int(pq.read_metadata(arrow_source(path)).num_rows)

    def measure(self, path: Path, written: WriteFormat) -> Measured:
        footer = read_footer(path)
        return Measured(footer.rows, footer.uncompressed_bytes, footer)

    def rejects(self, path: Path, written: WriteFormat) -> pa.StructArray:
        column = (
            pq.ParquetFile(arrow_source(path))
            .read(columns=[REJECT])
            .column(REJECT)
            .combine_chunks()
        )
        return column if isinstance(column, pa.StructArray) else column.chunk(0)

    def _schema(self, path: Path) -> pa.Schema:
        file = pq.read_metadata(arrow_source(path)).schema
        columns = [file.column(number) for number in range(len(file))]
        schema = file.to_arrow_schema()
        if not any(column.physical_type == "INT96" for column in columns):
            return schema
        return pa.schema(with_types(schema, _instant))


def _instant(field: pa.Field) -> pa.DataType:
    """The type of a field of a file with INT96, which Hive, Impala and older Sparks write.

    To Spark such a timestamp is an instant; Arrow shows it as nanoseconds without a zone.
    """
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("ns", "UTC")
    return kind


def read_footers(paths: Iterable[Path], *, threads: int | None = None) -> tuple[Footer, ...]:
    """The footers of many files, in their order.

    Args:
        paths: Parquet files.
        threads: How many are read at the same time; None lets Python choose by the cores.

    Raises:
        TornParquet: one of them is not a whole Parquet file.
        MissingDataFile: one of them is not there.
    """
    with ThreadPoolExecutor(threads) as pool:
        return tuple(pool.map(read_footer, paths))


def read_footer(path: Path) -> Footer:
    """The footer of a Parquet file.

    Raises:
        TornParquet: it is empty, cut off or something else.
        MissingDataFile: it is not there.
    """
    try:
        size = path.stat().st_size
        return footer_of(pq.read_metadata(arrow_source(path)), size)
    except FileNotFoundError as error:
        raise MissingDataFile(path) from error
    except (pa.ArrowException, OSError) as error:
        raise TornParquet(
            f"{path} ({size} bytes) is not a whole Parquet file.",
            remedy="Restore it from a backup if it was committed; if not, leave it to upkeep.",
            file=path,
            size=size,
            reason=str(error),
        ) from error


def footer_of(metadata: pq.FileMetaData, size: int) -> Footer:
    """A footer as PyArrow has read or written it.

    Args:
        size: The file's bytes.
    """
    schema = metadata.schema.to_arrow_schema()
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # Arrow writes an empty table as an empty row group without statistics, Spark as none at all.
    groups = [group for group in groups if group.num_rows]
    null_counts: dict[str, int | None] = {}
    min_values: dict[str, Any] = {}
    max_values: dict[str, Any] = {}
    for number, name in _flat_columns(metadata.schema):
        statistics = [group.column(number).statistics for group in groups]
        null_counts[name] = _null_count(statistics)
        bounds = _bounds(statistics, schema.field(name).type)
        if bounds is not None:
            min_values[name], max_values[name] = bounds
    return Footer(
        rows=metadata.num_rows,
        size=size,
        uncompressed_bytes=sum(group.total_byte_size for group in groups),
        schema=schema,
        null_counts=null_counts,
        min_values=min_values,
        max_values=max_values,
    )


def _flat_columns(schema: pq.ParquetSchema) -> Iterator[tuple[int, str]]:
    for number in range(len(schema)):
        column = schema.column(number)
        # A name may hold a dot, so the path alone does not tell `a.b` from `b` inside `a`.
        if column.path == column.name and column.max_repetition_level == 0:
            yield number, column.name


def _null_count(statistics: list[Any]) -> int | None:
    if any(group is None or not group.has_null_count for group in statistics):
        return None
    return sum(int(group.null_count) for group in statistics)


def _bounds(statistics: list[Any], kind: pa.DataType) -> tuple[Any, Any] | None:
    if not _exact(kind) or any(group is None for group in statistics):
        return None
    # A row group of nulls has no bounds and needs none; `num_values` leaves nulls out.
    statistics = [group for group in statistics if group.has_min_max or group.num_values]
    if not statistics or not all(group.has_min_max for group in statistics):
        return None
    try:
        return min(group.min for group in statistics), max(group.max for group in statistics)
    except (ValueError, OverflowError):
        # A date that Python has no words for, such as one after the year 9999.
        return None


def _exact(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_string(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us")
    )
