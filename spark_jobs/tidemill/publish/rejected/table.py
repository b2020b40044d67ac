"""The table of rejected rows, each with its reason and source file.

A Delta table cannot name files outside its own root, so these few rows are copied; the file's name
is the increment, so that a copy that was cut short is written again and never twice. A swap takes
away the rows that it was computed again without (see `rejected_rest`), once consumers see its good
rows: whoever reads both tables finds a row twice for a moment, and never nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_table import options_at
from tidemill.file_formats.parquet import read_footer
from tidemill.file_formats.table import READERS
from tidemill.journal.journal import Event
from tidemill.publish.audit import Audited
from tidemill.publish.delta import commit
from tidemill.publish.delta.position import (
    ADDED,
    REPLACED,
    TAKEN_BACK,
    DeltaPosition,
    ReplacementPosition,
    TakeBackPosition,
)
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.rejected.remaining import COLUMNS, rest_of, rows_but
from tidemill.storage.folders import whole_file
from tidemill.storage.sync import sync

SAID = ("reason", "file", "record", "partition")


class RejectedWithoutReason(Refused):
    """A row is among the rejected ones without a reason; carries `path`."""


@dataclass(frozen=True)
class RejectedTable:
    """The rejected rows of one pipeline."""

    layout: Layout
    epoch: int

    def add(self, event: Event, audited: Sequence[Audited]) -> None:
        """Copy an event's rejected rows, once; before consumers see its good rows."""
        rejected = [one for one in audited if one.file.rejected and one.file.rows]
        turn = DeltaPosition(self.layout, event)

        def copy(table: DeltaTable | None) -> None:
            rows = (_rows(one, event) for one in rejected)
            adds = self._writer(event).write(event.generation, rows)
            self._commit(table, turn, ADDED, adds)

        commit.compare_and_commit(self.layout.rejected, turn, self.epoch, copy)

    def drop_replaced(self, event: Event) -> None:
        """Take away the rows that an event takes the place of, once its good rows are seen."""
        if event.in_order:
            return
        turn = ReplacementPosition(self.layout, event)

        def drop(table: DeltaTable | None) -> None:
            rest = rest_of(table, self.layout, event)
            if rest.removes:
                kept = self._writer(event).write("rest", rest.kept)
                self._commit(table, turn, REPLACED, kept, rest.removes)

        commit.compare_and_commit(self.layout.rejected, turn, self.epoch, drop)

    def take_back(self, event: Event) -> None:
        """Take away the rows that were copied of an event that consumers will never see.

        Its batches are not counted any more, so that they can come as another event.
        """
        turn = TakeBackPosition(self.layout, event)

        def drop(table: DeltaTable | None) -> None:
            rest = rows_but(table, self.layout, frozenset({event.increment}))
            kept = self._writer(event).write("back", rest.kept)
            self._commit(table, turn, TAKEN_BACK, kept, rest.removes)

        commit.compare_and_commit(self.layout.rejected, turn, self.epoch, drop)

    def _writer(self, event: Event) -> _Writer:
        return _Writer(self.layout.rejected, f"{event.increment:06d}-{self.epoch:06d}.parquet")

    def _commit(
        self,
        table: DeltaTable | None,
        turn: DeltaPosition,
        what: str,
        adds: Sequence[AddAction],
        removes: Sequence[RemoveAction] = (),
    ) -> None:
        event = turn.event
        metadata = {what: str(event.seq), "tidemill.increment": f"{event.increment:06d}"}
        properties = commit.properties(
            self.epoch, metadata, *turn.transactions(), exactly=bool(removes)
        )
        schema = Schema.from_arrow(COLUMNS)
        if table is None:
            create_table_with_add_actions(
                str(self.layout.rejected),
                schema,
                [*adds],
                mode="error",
                storage_options=options_at(self.layout.rejected),
                name=f"{self.layout.name}_rejected",
                commit_properties=properties,
            )
        else:
            table.create_write_transaction(
                [*removes, *adds], "append", schema, commit_properties=properties
            )


@dataclass(frozen=True)
class _Writer:
    """Writes files of the table.

    Args:
        name: What the files' names end with.
    """

    root: Path
    name: str

    def write(self, first: str, tables: Iterable[pa.Table]) -> list[AddAction]:
        """One file, or none where there is no row."""
        found = [table for table in tables if len(table)]
        if not found:
            return []
        path = self.root / f"{first}-{self.name}"
        with (
            whole_file(path) as draft,
            draft.open("wb") as file,
            pq.ParquetWriter(file, COLUMNS) as writer,
        ):
            for table in found:
                writer.write_table(table)
        sync([path], self.root.parent)
        footer = read_footer(path)
        return [
            AddAction(
                path=path.name,
                size=footer.size,
                partition_values={},
                modification_time=int(path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(footer, COLUMNS.names),
            )
        ]


def _rows(one: Audited, event: Event) -> pa.Table:
    reject = READERS[one.written.format].rejects(one.path, one.written)
    rows = len(reject)
    constants = {
        "generation": pa.array([event.generation] * rows, pa.string()),
        "increment": pa.array([event.increment] * rows, pa.int64()),
        "last_batch": pa.array([event.last] * rows, pa.int64()),
    }
    said = {name: reject.field(name) for name in SAID}
    if nulls := said["reason"].null_count:
        raise RejectedWithoutReason(
            f"{one.path} is among the rejected rows and holds {counted(nulls, 'row')} "
            "without a reason.",
            remedy="The transform made a good row's partition null; keep partition columns as they "
            "are. Nothing was published.",
            path=one.path,
        )
    return pa.table({**said, **constants}, schema=COLUMNS)
