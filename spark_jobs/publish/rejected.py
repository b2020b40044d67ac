"""The rejected table: copies of the rows that did not make it, with reason and source file.

A Delta table cannot name files outside its own root, so these few rows are copied; the file's name
is the increment, so that a copy that was cut short is written again and never twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, Transaction
from deltalake.transaction import AddAction, create_table_with_add_actions

from spark_jobs.contract.errors import Refused
from spark_jobs.contract.layout import Layout
from spark_jobs.ledger.footers import read_footer
from spark_jobs.ledger.journal import Event
from spark_jobs.publish import commit
from spark_jobs.publish.books import Audited
from spark_jobs.publish.reject_rows import reject_rows
from spark_jobs.publish.statistics import delta_statistics

COLUMNS = pa.schema(
    [
        ("reason", pa.string()),
        ("file", pa.string()),
        ("record", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
        ("generation", pa.string()),
        ("increment", pa.int64()),
        ("last_batch", pa.int64()),
    ]
)

SAID = ("reason", "file", "record", "partition")


class RejectedWithoutReason(Refused):
    """A row stands among the rejected ones and nobody rejected it; carries `path`."""


@dataclass(frozen=True)
class RejectedTable:
    """The rejected rows of one pipeline.

    Args:
        layout: Of the pipeline.
        app: The application id of the generation.
        epoch: Of the lease.
    """

    layout: Layout
    app: str
    epoch: int

    def apply(self, event: Event, audited: Sequence[Audited]) -> bool:
        """Copy an increment's rejected rows; False if the table already has them."""
        rejected = [one for one in audited if one.file.rejected and one.file.rows]

        def copy(table: DeltaTable | None) -> None:
            self._commit(table, event, rejected)

        return commit.compare_and_commit(self.layout.rejected, event, self.app, self.epoch, copy)

    def _commit(self, table: DeltaTable | None, event: Event, files: Sequence[Audited]) -> None:
        actions = [self._write(event, files)] if files else []
        schema = Schema.from_arrow(COLUMNS)
        metadata = {
            "tidemill.journal": str(event.seq),
            "tidemill.increment": f"{event.increment:06d}",
        }
        batch = Transaction(self.app, event.last)
        properties = commit.properties(self.epoch, metadata, batch)
        if table is None:
            create_table_with_add_actions(
                str(self.layout.rejected),
                schema,
                actions,
                mode="error",
                name=f"{self.layout.name}_rejected",
                commit_properties=properties,
            )
        else:
            table.create_write_transaction(
                list(actions), "append", schema, commit_properties=properties
            )

    def _write(self, event: Event, files: Sequence[Audited]) -> AddAction:
        name = f"{event.generation}-{event.increment:06d}-{self.epoch:06d}.parquet"
        path = self.layout.rejected / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{name}.{os.getpid()}")
        with pq.ParquetWriter(draft, COLUMNS) as writer:
            for one in files:
                writer.write_table(_rows(one, event))
        draft.replace(path)
        footer = read_footer(path)
        return AddAction(
            path=name,
            size=footer.size,
            partition_values={},
            modification_time=int(path.stat().st_mtime * 1000),
            data_change=True,
            stats=delta_statistics(footer, COLUMNS.names),
        )


def _rows(one: Audited, event: Event) -> pa.Table:
    reject = reject_rows(one.path, one.written)
    rows = len(reject)
    constants = {
        "generation": pa.array([event.generation] * rows, pa.string()),
        "increment": pa.array([event.increment] * rows, pa.int64()),
        "last_batch": pa.array([event.last] * rows, pa.int64()),
    }
    said = {name: reject.field(name) for name in SAID}
    if said["reason"].null_count:
        raise RejectedWithoutReason(
            f"{one.path} lies among the rejected rows and holds {said['reason'].null_count} rows "
            "without a reason.",
            remedy="The transform made a good row's partition null; keep partition columns as they "
            "are. Nothing was published.",
            path=one.path,
        )
    return pa.table({**said, **constants}, schema=COLUMNS)
