"""Upsert and replace in a Delta table, as files to remove and files to add.

Both go into one commit on the snapshot that was compared. delta-rs's own merge would do, but it
commits on a snapshot of its own choice and writes statistics that hide rows (see `statistics`).
The new files are the table's own: nothing of ours keeps or clears them away, VACUUM does.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from tidemill.file_formats.parquet import read_footer
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.payload import Payload
from tidemill.publish.payload_partitions import (
    OPEN_FILES,
    Rest,
    Values,
    partitions_of,
    rest_of,
    write_rows,
)
from tidemill.spark_logs.partition_paths import partition_directory
from tidemill.spec.output import OutputMode
from tidemill.storage.sync import sync


@dataclass(frozen=True)
class Rewrite:
    """The files that a commit removes and adds."""

    removes: Sequence[RemoveAction]
    adds: Sequence[AddAction]


def rewrite(
    table: DeltaTable | None, root: Path, schema: pa.Schema, payload: Payload, name: str
) -> Rewrite:
    """Write a payload and what must stay beside it, and say what changes.

    Args:
        table: The snapshot that will be committed on; None where there is no table yet.
        schema: The schema of the table, with partition columns and every column of the payload.
        payload: In mode `update` its rows replace those of the same keys, in `complete` all rows.
        name: What the new files' names begin with.
    """
    live = live_files(table, root) if table else []
    touched = list(partitions_of(payload))
    if payload.mode is OutputMode.COMPLETE:
        rest: list[Rest[LiveFile]] = []
        removed = live
    else:
        names = payload.partition_by
        placed = ((tuple(file.partition[name] for name in names), file) for file in live)
        keys = pa.schema([payload.schema.field(key) for key in payload.keys])
        rest = rest_of(placed, set(touched), payload, keys)
        removed = [one.file for one in rest]
    writer = _Writer(root, schema, payload, name)
    return Rewrite(
        [file.removal() for file in removed],
        [
            add
            for start in range(0, len(touched), OPEN_FILES)
            for add in writer.write(touched[start : start + OPEN_FILES], rest)
        ],
    )


@dataclass(frozen=True)
class _Writer:
    """Writes one file per partition: what stays of its rewritten files, then the payload's rows."""

    root: Path
    schema: pa.Schema
    payload: Payload
    name: str

    @property
    def partitions(self) -> tuple[str, ...]:
        return self.payload.partition_by

    @property
    def inside(self) -> pa.Schema:
        """The columns that a file holds: partition columns are in its directory's name."""
        return pa.schema([field for field in self.schema if field.name not in self.partitions])

    def write(
        self, partitions: Sequence[Values], rest: Sequence[Rest[LiveFile]]
    ) -> Iterator[AddAction]:
        inside = self.inside
        paths = {values: self._path(values) for values in partitions}
        with ExitStack() as stack:
            writers = {}
            for values, path in paths.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(path.open("wb"))
                writers[values] = stack.enter_context(pq.ParquetWriter(file, inside))
            write_rows(writers, inside, self.payload, rest)
        sync(paths.values(), self.root.parent)
        for values, path in paths.items():
            footer = read_footer(path)
            yield AddAction(
                path=str(path.relative_to(self.root)),
                size=footer.size,
                partition_values=dict(zip(self.partitions, values, strict=True)),
                modification_time=int(path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(footer, inside.names),
            )

    def _path(self, values: Values) -> Path:
        folder = partition_directory(dict(zip(self.partitions, values, strict=True)))
        return self.root / folder / f"{self.name}-{uuid.uuid4().hex}.parquet"
