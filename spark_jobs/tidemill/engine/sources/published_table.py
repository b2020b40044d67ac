"""A published Delta table as a data source in Python: the rows that its versions add.

Executors need pyarrow and nothing of Tidemill: what they run goes to them by value, and so does
every class here with all that its methods name. What plans batches is therefore imported where it
runs, in the driver's environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pyarrow as pa
from pyarrow.fs import FileSystem, LocalFileSystem, S3FileSystem
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tidemill.file_formats.parquet_rows import chunks_of

if TYPE_CHECKING:
    from tidemill.file_formats.delta_changes import AddedFile, TableHead
    from tidemill.sources.tables.batches import Offset, TableBatches

# Bytes that one task reads at least, where there are as many.
TASK_BYTES = 32 * 2**20


@dataclass
class Files(InputPartition):
    """Files that one task reads.

    Args:
        files: Path -> partition column -> value as text.
    """

    files: dict[str, dict[str, str | None]]


@dataclass
class Place:
    """Where a table's files are, for tasks that read them.

    Args:
        s3: What Arrow needs to reach the store; None for a disk.
    """

    s3: dict[str, Any] | None

    def rows(self, files: Files, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of some files."""
        system: FileSystem = LocalFileSystem() if self.s3 is None else S3FileSystem(**self.s3)
        for path, values in files.files.items():
            with system.open_input_file(path.partition("://")[2] or path) as file:
                yield from chunks_of(file, values, schema)


class PublishedTable(DataSource):
    """Options: `path` of the table, and as JSON `held_swaps`, `limits`, and for a batch `files`.

    Attributes:
        VARIABLES: Those that lead to the bucket of the root; options may be shown, these are not.
    """

    VARIABLES: ClassVar[dict[str, str]] = {}

    @classmethod
    def name(cls) -> str:
        return "tidemill_table"

    def streamReader(self, schema: StructType) -> PublishedTableStream:
        options = dict(self.options)
        held, limits = (json.loads(options[name]) for name in ("held_swaps", "limits"))
        return PublishedTableStream(schema, options["path"], held, limits, self._place())

    def reader(self, schema: StructType) -> PublishedFiles:
        return PublishedFiles(schema, json.loads(dict(self.options)["files"]), self._place())

    def _place(self) -> Place:
        """Where the table's files are; this process can look there from now on."""
        from tidemill.contract.objects.object_path import ObjectPath, path_of
        from tidemill.file_formats.arrow_files import s3_settings

        os.environ.update(self.VARIABLES)
        is_object = isinstance(path_of(dict(self.options)["path"]), ObjectPath)
        return Place(s3_settings() if is_object else None)


class PublishedFiles(DataSourceReader):
    """Reads given files.

    Args:
        files: For each task, path -> partition column -> value as text.
    """

    def __init__(
        self, schema: StructType, files: list[dict[str, dict[str, str | None]]], place: Place
    ) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._files = files
        self._place = place

    def partitions(self) -> list[Files]:
        return [Files(some) for some in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._place.rows(cast(Files, partition), self._schema)


class PublishedTableStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what versions add; swaps are passed over, or stop it where they are to be held.

    Args:
        held: The `versions` of swaps that stop it, and the version `after` which all do; None
            where none does.
        limits: The most `files` and `bytes` of a batch; None for no limit.
    """

    def __init__(
        self,
        schema: StructType,
        path: str,
        held: dict[str, Any] | None,
        limits: dict[str, int | None],
        place: Place,
    ) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._path = path
        self._place = place
        self._held = held
        self._limits = limits
        self._target: TableHead | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark has no limit of both kinds, so it is told one of them, and gives it back.
        files, size = self._limits["files"], self._limits["bytes"]
        if files is not None:
            return ReadMaxFiles(files)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._batches.head()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        from tidemill.sources.tables.batches import BatchLimits

        # The trigger `once` asks for all there is.
        everything = isinstance(limit, ReadAllAvailable)
        limits = BatchLimits() if everything else BatchLimits(**self._limits)
        batches = self._batches
        return batches.end(start, self._target or batches.head(), limits)

    def partitions(self, start: Offset, end: Offset) -> list[Files]:
        return [Files(some) for some in by_task(self._batches.files(start, end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._place.rows(cast(Files, partition), self._schema)

    def commit(self, end: Offset) -> None:
        """Nothing: the table keeps its versions, so that any of them can be read again."""

    @property
    def _batches(self) -> TableBatches:
        from tidemill.contract.objects.object_path import path_of
        from tidemill.sources.tables.batches import TableBatches

        return TableBatches(path_of(self._path), self._held)


def by_task(files: Iterable[AddedFile]) -> list[dict[str, dict[str, str | None]]]:
    """Files in parts for one task each: path -> partition column -> value as text."""
    parts: list[dict[str, dict[str, str | None]]] = []
    size = TASK_BYTES
    for file in files:
        if size >= TASK_BYTES:
            parts.append({})
            size = 0
        parts[-1][file.path] = dict(file.partition)
        size += file.size
    return parts
