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

from tidemill.file_formats.keyed_rows import KeyedFile, rows_at, with_keys_of
from tidemill.file_formats.parquet import read_footer
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.payload import Payload
from tidemill.spark_logs.partition_paths import partition_directory
from tidemill.spec.output import OutputMode
from tidemill.storage.sync import sync

# Files that are written at the same time; a process may not have many more open.
OPEN_FILES = 100
Values = tuple[str | None, ...]


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
    touched = list(_partitions(payload))
    if payload.mode is OutputMode.COMPLETE:
        rest: list[tuple[LiveFile, pa.Array]] = []
        removed = live
    else:
        rest = _outlived(live, touched, payload)
        removed = [file for file, _ in rest]
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
        self, partitions: Sequence[Values], rest: Sequence[tuple[LiveFile, pa.Array]]
    ) -> Iterator[AddAction]:
        inside = self.inside
        paths = {values: self._path(values) for values in partitions}
        with ExitStack() as stack:
            writers = {}
            for values, path in paths.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                writers[values] = stack.enter_context(pq.ParquetWriter(path, inside))
            for file, replaced in rest:
                values = tuple(file.partition[name] for name in self.partitions)
                if values in writers:
                    for chunk in rows_at(file, replaced, inside, inverted=True):
                        writers[values].write_batch(chunk)
            for _, chunk in self.payload.read():
                for values, rows in _split(chunk, self.partitions):
                    if values in writers:
                        columns = [rows.column(field.name).cast(field.type) for field in inside]
                        writers[values].write_batch(
                            pa.RecordBatch.from_arrays(columns, schema=inside)
                        )
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


def _outlived(
    live: Sequence[LiveFile], touched: Sequence[Values], payload: Payload
) -> list[tuple[LiveFile, pa.Array]]:
    """The files of which the payload replaces rows, and which rows these are."""
    names = payload.partition_by
    near = [f for f in live if tuple(f.partition[name] for name in names) in set(touched)]
    keys = pa.schema([payload.schema.field(key) for key in payload.keys])
    incoming = [KeyedFile(file.path, file.partition) for file in payload.files]
    return [(near[number], rows) for number, rows in with_keys_of(near, incoming, keys).items()]


def _partitions(payload: Payload) -> Iterator[Values]:
    """The partitions that a payload has rows in, each once."""
    seen: set[Values] = set()
    for _, chunk in payload.read():
        for values, _ in _split(chunk, payload.partition_by):
            if values not in seen:
                seen.add(values)
                yield values


def _split(
    chunk: pa.RecordBatch, partitions: Sequence[str]
) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """The rows of a chunk by partition."""
    if not partitions:
        yield (), chunk
        return
    texts = [chunk.column(name).cast(pa.string()) for name in partitions]
    rows: dict[Values, list[int]] = {}
    for row, values in enumerate(zip(*(text.to_pylist() for text in texts), strict=True)):
        rows.setdefault(values, []).append(row)
    for values, numbers in rows.items():
        yield values, chunk.take(pa.array(numbers))
