"""The rejected rows that remain when an event replaces others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.journal.journal import Event, Journal
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.publish.delta.live_files import live_files

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
# The columns by which a row says whether it is replaced.
TELLING = ["file", "partition", "increment"]


@dataclass(frozen=True)
class Rest:
    """The files that a commit removes from the table, and the rows that it writes again.

    Args:
        removes: Files that hold replaced rows.
        kept: Their other rows.
    """

    removes: Sequence[RemoveAction] = ()
    kept: Sequence[pa.Table] = ()


def rest_of(table: DeltaTable | None, layout: Layout, event: Event) -> Rest:
    """The rejected rows that an event replaces on a snapshot.

    A swap replaces the rejected rows of its partitions, and those without a partition whose origin
    it has read again; only of events that it was computed after. A rewind keeps the rejected rows
    up to the event that it goes back to. Rows are few, so the files they are in are rewritten.
    """
    if table is None or event.kind not in ("swap", "replace"):
        return Rest()
    events = Journal(layout.journal).events()
    recomputation = event.recomputation
    if event.kind == "replace":
        kept = recomputation.rewinds_to if recomputation else None
        gone = (e.increment for e in events if (kept or 0) < e.seq < event.seq)
        return rows_but(table, layout, frozenset(gone))
    if recomputation is None or (
        recomputation.partitions is None and recomputation.replaces_rejects_of is None
    ):
        return Rest()
    return _rest(table, layout, _Replaced.by(recomputation, events).holds)


def rows_but(table: DeltaTable | None, layout: Layout, increments: frozenset[int]) -> Rest:
    """The rows that stay without those of some increments."""
    return _rest(table, layout, lambda row: row["increment"] in increments)


def _rest(
    table: DeltaTable | None, layout: Layout, goes: Callable[[Mapping[str, Any]], bool]
) -> Rest:
    removes, kept = [], []
    for file in live_files(table, layout.rejected) if table else ():
        rows = pq.read_table(arrow_source(file.path), schema=COLUMNS)
        stays = [not goes(row) for row in rows.select(TELLING).to_pylist()]
        if not all(stays):
            removes.append(file.removal())
            kept.append(rows.filter(pa.array(stays)))
    return Rest(removes, kept)


@dataclass(frozen=True)
class _Replaced:
    """Tells the rows that a swap replaces.

    Args:
        partitions: The partitions of the rows; None for rows without one.
    """

    partitions: Partitions | None
    origins: frozenset[str]
    increments: frozenset[int]

    @classmethod
    def by(cls, recomputation: Recomputation, events: Sequence[Event]) -> _Replaced:
        known = frozenset(event.increment for event in events if event.seq <= recomputation.seq)
        return cls(
            recomputation.partitions, frozenset(recomputation.replaces_rejects_of or ()), known
        )

    def holds(self, row: Mapping[str, Any]) -> bool:
        if row["increment"] not in self.increments:
            return False
        partition = dict(row["partition"] or ())
        columns = self.partitions.columns if self.partitions else ()
        if columns and any(partition.get(column) is None for column in columns):
            return row["file"] in self.origins
        if self.partitions is None:
            return not any(partition.values()) and row["file"] in self.origins
        return self.partitions.hold(partition)
