"""Compaction: small files of a Delta table are written again as larger ones; no row changes.

Each new file holds rows of one partition, so a swap removes it like any other. The files that it
takes the place of leave the table, and stay on disk where the ledger names them: a rewind, a target
that lags and Iceberg go on reading those. The commit changes no data by Delta's own mark, so that
streams pass over it.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.file_formats.parquet import read_footer, read_footers
from tidemill.publish.audit import BooksDisagree
from tidemill.publish.delta import commit
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.spark_logs.partition_paths import partition_directory
from tidemill.storage.sync import sync

# What one commit writes at most, so that another step waits for no more than that.
BYTES_AT_ONCE = 2**30
FILES_AT_ONCE = 100
# A row group of a new file, in memory.
ROW_GROUP_BYTES = 64 * 2**20


class NotCompacted(Refused):
    """Files of a table cannot be written as one; carries `table` and `partition`."""


@dataclass(frozen=True)
class SmallFiles:
    """Small files of one partition that one file takes the place of."""

    partition: Mapping[str, str | None]
    files: tuple[LiveFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Compaction:
    """The compaction of one table.

    Args:
        path: The table's root.
        target_size: Bytes of a new file; a file of less than half of that is small.
        sort_by: The columns that the rows of a new file are sorted by.
        partitions: The partitions to look at, each by some of its columns; all where there is none.
    """

    layout: Layout
    path: Path
    target_size: int
    sort_by: Sequence[str] = ()
    partitions: Sequence[Mapping[str, str | None]] = ()

    def find(self, table: DeltaTable) -> list[SmallFiles]:
        """The small files of a snapshot; of one partition there may be several sets."""
        small: dict[tuple[tuple[str, str | None], ...], list[LiveFile]] = {}
        for file in live_files(table, self.path):
            if 2 * file.size < self.target_size and self._asked_for(file.partition):
                small.setdefault(tuple(sorted(file.partition.items())), []).append(file)
        return [one for _, files in sorted(small.items(), key=str) for one in self._sets(files)]

    def commit_some(self, epoch: int, run_id: str) -> list[SmallFiles]:
        """Compact a bounded part of what there is, in one commit.

        Args:
            epoch: The epoch of the lease that the caller holds.

        Returns:
            What was compacted; empty where nothing is left.

        Raises:
            NotCompacted: rows cannot be sorted, or put into the columns of the table.
            LeaseLost: the table has seen a newer epoch.
            CommitContended: other writers won every time.
        """
        done: list[SmallFiles] = []

        def write(table: DeltaTable | None) -> None:
            done[:] = _bounded(self.find(table)) if table else []
            if table and done:
                self._commit(table, done, epoch, run_id)

        commit.compare_and_commit(self.path, commit.AnyTurn(self.layout), epoch, write)
        return done

    def _asked_for(self, partition: Mapping[str, str | None]) -> bool:
        asked = self.partitions
        return not asked or any(one.items() <= partition.items() for one in asked)

    def _sets(self, files: Sequence[LiveFile]) -> Iterator[SmallFiles]:
        size, found = 0, list[LiveFile]()
        for file in sorted(files, key=lambda one: (one.size, one.name)):
            if size + file.size > self.target_size:
                yield from _worth_it(found)
                size, found = 0, []
            size += file.size
            found.append(file)
        yield from _worth_it(found)

    def _commit(
        self, table: DeltaTable, found: Sequence[SmallFiles], epoch: int, run_id: str
    ) -> None:
        partitions = table.metadata().partition_columns
        fields = [one for one in pa.schema(table.schema().to_arrow()) if one.name not in partitions]
        adds = [self._write(one, pa.schema(fields), partitions, epoch) for one in found]
        removes = [file.removal(data_change=False) for one in found for file in one.files]
        said = {"tidemill.compacted": str(len(removes)), "tidemill.run_id": run_id}
        table.create_write_transaction(
            [*removes, *adds],
            "append",
            table.schema(),
            partitions,
            commit_properties=commit.properties(epoch, said, exactly=True),
            post_commithook_properties=commit.LOG_KEPT,
        )

    def _write(
        self, one: SmallFiles, columns: pa.Schema, partitions: Sequence[str], epoch: int
    ) -> AddAction:
        folder = partition_directory({name: one.partition[name] for name in partitions})
        path = self.path / folder / f"compacted-{epoch:06d}-{uuid.uuid4().hex}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file, pq.ParquetWriter(file, columns) as writer:
                for group in self._row_groups(one, columns):
                    writer.write_table(group)
        except pa.ArrowException as error:
            path.unlink()
            raise NotCompacted(
                f"{counted(len(one.files), 'file')} of {self.path / folder} cannot be written as "
                f"one: {error}",
                remedy="The table is as it was. If a column of compact.sort_by cannot be sorted, "
                "correct it under publish in the spec.",
                table=self.path,
                partition=dict(one.partition),
            ) from error
        sync([path], self.layout.root)
        footer = read_footer(path)
        _refuse_other_rows(one, path, footer.rows)
        return AddAction(
            path=str(path.relative_to(self.path)),
            size=footer.size,
            partition_values={name: one.partition[name] for name in partitions},
            modification_time=int(path.stat().st_mtime * 1000),
            data_change=False,
            stats=delta_statistics(footer, columns.names),
        )

    def _row_groups(self, one: SmallFiles, columns: pa.Schema) -> Iterator[pa.Table]:
        chunks = chain.from_iterable(file.chunks(columns) for file in one.files)
        if self.sort_by:
            rows = pa.Table.from_batches(chunks, columns)
            yield rows.sort_by([(name, "ascending") for name in self.sort_by])
            return
        group = list[pa.RecordBatch]()
        for chunk in chunks:
            group.append(chunk)
            if sum(part.nbytes for part in group) >= ROW_GROUP_BYTES:
                yield pa.Table.from_batches(group, columns)
                group = []
        if group:
            yield pa.Table.from_batches(group, columns)


def _worth_it(files: Sequence[LiveFile]) -> Iterator[SmallFiles]:
    if len(files) > 1:
        yield SmallFiles(files[0].partition, tuple(files))


def _bounded(found: Sequence[SmallFiles]) -> list[SmallFiles]:
    size, some = 0, list[SmallFiles]()
    for one in found[:FILES_AT_ONCE]:
        if some and size + one.size > BYTES_AT_ONCE:
            break
        size += one.size
        some.append(one)
    return some


def _refuse_other_rows(one: SmallFiles, path: Path, rows: int) -> None:
    before = sum(footer.rows for footer in read_footers([file.path for file in one.files]))
    if rows != before:
        raise BooksDisagree(
            f"{path} has {rows} rows, and the files that it is made of have {before}.",
            remedy="The table is as it was; report it as a defect.",
            path=path,
            rows=rows,
            before=before,
        )
