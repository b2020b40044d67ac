"""A published Delta table as a data source in Python: the rows that its versions add.

Executors need pyarrow and nothing of Tidemill: what they run goes to them by value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
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
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tidemill.file_formats.delta_changes import (
    AddedFile,
    TableHead,
    changes,
    files_between,
    table_head,
)
from tidemill.file_formats.parquet_rows import row_chunks

# As in Kafka's positions: the table's id -> its only partition -> the first version not read.
Offset = dict[str, dict[str, int]]
PARTITION = "0"
NOTHING = TableHead("", -1)
# Bytes that one task reads at least, where there are as many.
TASK_BYTES = 32 * 2**20


@dataclass
class Files(InputPartition):
    """Files that one task reads.

    Args:
        files: Path -> partition column -> value as text.
    """

    files: dict[str, dict[str, str | None]]


class PublishedTable(DataSource):
    """Options: `path` of the table, `held_swaps`, and for a batch `files`, both as JSON."""

    @classmethod
    def name(cls) -> str:
        return "tidemill_table"

    def streamReader(self, schema: StructType) -> PublishedTableStream:
        options = dict(self.options)
        return PublishedTableStream(schema, options["path"], json.loads(options["held_swaps"]))

    def reader(self, schema: StructType) -> PublishedFiles:
        return PublishedFiles(schema, json.loads(dict(self.options)["files"]))


class PublishedFiles(DataSourceReader):
    """Reads given files.

    Args:
        files: For each task, path -> partition column -> value as text.
    """

    def __init__(self, schema: StructType, files: list[dict[str, dict[str, str | None]]]) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._files = files

    def partitions(self) -> list[Files]:
        return [Files(some) for some in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._schema)


class PublishedTableStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what versions add; swaps are passed over, or stop it where they are to be held.

    Args:
        held: The `versions` of swaps that stop it, and the version `after` which all do; None
            where none does.
    """

    def __init__(self, schema: StructType, path: str, held: dict[str, Any] | None) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._path = path
        self._held = held
        self._target: TableHead | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = table_head(Path(self._path)) or NOTHING

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        table = Path(self._path)
        head = self._target or table_head(table) or NOTHING
        if start and head.id not in start:
            # Another table in its place: the doctor refuses it.
            return start
        first = start.get(head.id, {}).get(PARTITION, 0)
        until = max(first, head.version + 1)
        if first and self._held is not None:
            swaps = (v.number for v in changes(table, first, until) if v.swapped)
            until = next((number for number in swaps if self._holds(number)), until)
        # The position stays before swaps, which a recomputation reads with what came before them.
        return {head.id: {PARTITION: until}} if files_between(table, first, until) else start

    def _holds(self, swap: int) -> bool:
        """Whether a swap is one of those known to be held, or came after they were told."""
        held = self._held
        return held is not None and (swap in held["versions"] or swap > held["after"])

    def partitions(self, start: Offset, end: Offset) -> list[Files]:
        table = Path(self._path)
        found = [
            file
            for identity, ends in end.items()
            for file in files_between(
                table, start.get(identity, {}).get(PARTITION, 0), ends[PARTITION]
            )
        ]
        return [Files(some) for some in by_task(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows(partition, self._schema)

    def commit(self, end: Offset) -> None:
        """Nothing: the table keeps its versions, so that any of them can be read again."""


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


def _rows(partition: InputPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for path, values in cast(Files, partition).files.items():
        yield from row_chunks(Path(path), values, schema)
