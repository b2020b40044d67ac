"""Checks that a batch's rows can replace others: no key twice, and not too many of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tidemill.contract.counted import counted
from tidemill.engine.spark_errors import QueryFailed
from tidemill.file_formats.keyed_rows import KeyedFile, doubled
from tidemill.file_formats.parquet import read_footers
from tidemill.spark_logs.partition_paths import is_rejected, partition_values
from tidemill.spec.output import Output, OutputMode


class KeyTwice(QueryFailed):
    """A batch has several rows of one key; carries `batch`, `keys`, `example` and `rows`."""


class TooManyRows(QueryFailed):
    """The whole result is larger than the spec allows; carries `batch`, `rows` and `max_rows`."""


def good_files(paths: Iterable[Path], folder: Path, output: Output) -> list[KeyedFile]:
    """The files of rows that are not rejected, with their partitions.

    Args:
        folder: The folder in which the partitions' directories begin.
    """
    keyed = [KeyedFile(path, partition_values(path, folder)) for path in paths]
    keeps_null = output.keeps_null_partition
    return [file for file in keyed if not is_rejected(file.partition, keeps_null=keeps_null)]


def refuse_irreplaceable(
    files: Sequence[KeyedFile], schema: StructType, output: Output, batch: int
) -> None:
    """Look at the rows of a batch that are not rejected, before they count.

    Args:
        batch: Its id, for messages.

    Raises:
        TooManyRows: the whole result has more rows than `output.max_rows`.
        KeyTwice: two rows have the same.
    """
    if output.mode is OutputMode.COMPLETE:
        _refuse_many(files, output.max_rows, batch)
    if output.keys:
        _refuse_keys(files, schema, output.keys, batch)


def _refuse_many(files: Sequence[KeyedFile], most: int, batch: int) -> None:
    rows = sum(footer.rows for footer in read_footers(file.path for file in files))
    if rows > most:
        raise TooManyRows(
            f"Batch {batch} has {counted(rows, 'row')}, and output.max_rows is {most:,}.",
            remedy="Raise it, or use output.mode update, which writes changed rows only.",
            batch=batch,
            rows=rows,
            max_rows=most,
        )


def _refuse_keys(
    files: Sequence[KeyedFile], schema: StructType, names: Sequence[str], batch: int
) -> None:
    keys = to_arrow_schema(StructType([schema[name] for name in names]), timezone="UTC")
    twice = doubled(files, keys)
    if twice is not None:
        raise KeyTwice(
            f"Batch {batch} has {twice.rows} rows with the key {dict(twice.key)}, and which of "
            "them is the last cannot be told.",
            remedy="Aggregate to one row per key in the transform, or name more output.keys.",
            batch=batch,
            keys=names,
            example=dict(twice.key),
            rows=twice.rows,
        )
