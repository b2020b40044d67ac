"""The sink's Parquet files as entries of an Iceberg manifest, and those that a swap removes.

The partition columns of such a file are not in the file: an entry's partition record holds their
values. The entries carry our own statistics, because a Parquet footer's may mislead readers (see
`file_formats.parquet`).
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, PrimitiveType

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.file_formats.parquet import Footer
from tidemill.journal.partition_set import Partitions
from tidemill.publish.payload import Payload
from tidemill.publish.target import SwapUnfit
from tidemill.spark_logs.partition_paths import NULL_PARTITION

# A longer text has a lower bound that is cut, and no upper bound.
LONGEST_BOUND = 64


def data_files(metadata: TableMetadata, payload: Payload, columns: pa.Schema) -> Iterator[DataFile]:
    """The entries of a payload's files.

    Args:
        metadata: The table's, whose columns and partitions are those of the payload already.
        columns: The payload's columns with the table's types.
    """
    partitions = [field.name for field in metadata.spec().fields]
    for file, footer in zip(payload.files, payload.footers(), strict=True):
        values = [partition_value(file.partition[n], columns.field(n).type) for n in partitions]
        yield data_file(metadata, location_of(file.path), footer, values)


def location_of(path: Path) -> str:
    """A file as an entry names it: no quoted URI, for engines take its characters as they are."""
    return str(path) if isinstance(path, ObjectPath) else f"file://{path.absolute()}"


def data_file(
    metadata: TableMetadata, location: str, footer: Footer, partition: Sequence[Any]
) -> DataFile:
    """The entry of a Parquet file.

    Args:
        location: The file's, as the table's readers open it.
        partition: The values of the table's partition columns, by `partition_value`.
    """
    statistics: dict[str, Any] = _statistics(metadata, footer)
    return DataFile.from_args(
        _table_format_version=metadata.format_version,
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=footer.rows,
        file_size_in_bytes=footer.size,
        spec_id=metadata.default_spec_id,
        **statistics,
    )


def swapped_out(table: Table, partitions: Partitions | None, columns: pa.Schema) -> list[DataFile]:
    """The files of some partitions in the current snapshot.

    Args:
        partitions: None for none of them.
        columns: The table's columns.

    Raises:
        SwapUnfit: files hold rows of several of these partitions.
    """
    if partitions is None:
        return []
    files = [task.file for task in table.scan().plan_files()]
    if partitions.everything:
        return files
    wanted = {
        tuple(
            partition_value(None if text == NULL_PARTITION else text, columns.field(name).type)
            for name, text in zip(partitions.columns, value, strict=True)
        )
        for value in partitions.values
    }
    return [file for file in files if place(table, file, partitions.columns) in wanted]


def partition_value(text: str | None, kind: pa.DataType) -> Any:
    """A value in a directory's name as an Iceberg partition record holds it."""
    value = pa.scalar(text, pa.string()).cast(kind)
    if pa.types.is_date32(kind):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_timestamp(kind):
        return value.cast(pa.int64()).as_py()
    return value.as_py()


def place(table: Table, file: DataFile, columns: Iterable[str]) -> tuple[Any, ...]:
    """A file's values of some partition columns.

    Raises:
        SwapUnfit: it holds rows of several of their values.
    """
    names = [field.name for field in table.specs()[file.spec_id].fields]
    missing = [column for column in columns if column not in names]
    if missing:
        raise SwapUnfit(
            f"{file.file_path} holds rows of several values of '{missing[0]}', so none of them can "
            "be taken away.",
            remedy="Somebody has changed the table's partitions: rewrite its files by "
            f"{', '.join(columns)}.",
            targets=(".".join(table.name()),),
            path=file.file_path,
        )
    return tuple(file.partition[names.index(column)] for column in columns)


def _statistics(metadata: TableMetadata, footer: Footer) -> dict[str, dict[int, Any]]:
    schema = metadata.schema()
    known = {field.name: field for field in schema.fields}
    counts: dict[int, int] = {}
    nulls: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for name, count in footer.null_counts.items():
        if name not in known or not isinstance(known[name].field_type, PrimitiveType):
            continue
        field = known[name]
        counts[field.field_id] = footer.rows
        if count is not None:
            nulls[field.field_id] = count
        if name in footer.min_values:
            least, most = footer.min_values[name], footer.max_values[name]
            short = not isinstance(least, str) or len(most) <= LONGEST_BOUND
            least = least[:LONGEST_BOUND] if isinstance(least, str) else least
            lower[field.field_id] = _bytes(field.field_type, least)
            if short:
                upper[field.field_id] = _bytes(field.field_type, most)
    return {
        "value_counts": counts,
        "null_value_counts": nulls,
        "lower_bounds": lower,
        "upper_bounds": upper,
    }


def _bytes(kind: IcebergType, value: Any) -> bytes:
    if not isinstance(kind, PrimitiveType):
        raise TypeError(kind)
    return to_bytes(kind, value)
