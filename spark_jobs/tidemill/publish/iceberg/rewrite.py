"""Upsert and replace in an Iceberg table, as files to remove and files to add in one snapshot.

PyIceberg's own upsert would do, but makes two snapshots of it, of which the first shows readers a
table that lacks the replaced rows. The new files are the table's own, in its own storage.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.metadata import TableMetadata

from tidemill.file_formats.parquet import footer_of
from tidemill.publish.iceberg.data_files import data_file, partition_value, place
from tidemill.publish.payload import Payload
from tidemill.publish.payload_partitions import (
    OPEN_FILES,
    Rest,
    Values,
    partitions_of,
    rest_of,
    write_rows,
)
from tidemill.spec.output import OutputMode


@dataclass(frozen=True)
class Rewrite:
    """The files that a snapshot removes and adds."""

    removes: Sequence[DataFile]
    adds: Sequence[DataFile]


@dataclass(frozen=True)
class LiveFile:
    """A data file of the current snapshot, with the rows that readers see in it."""

    metadata: TableMetadata
    io: FileIO
    task: FileScanTask

    def chunks(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        columns = self.metadata.schema().select(*schema.names)
        scan = ArrowScan(self.metadata, self.io, columns, AlwaysTrue())
        for found in scan.to_record_batches([self.task]):
            if found.num_rows:
                values = [found.column(field.name).cast(field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(values, schema=schema)


@dataclass(frozen=True)
class PayloadWriter:
    """Writes a payload into new files in the table's own storage, one for each partition.

    Args:
        table: At the snapshot that will be committed on.
        metadata: The same with the columns and partitions of the payload.
        payload: In mode `update` its rows replace those of the same keys, in `complete` all rows.
        columns: The payload's columns with the table's types.
    """

    table: Table
    metadata: TableMetadata
    payload: Payload
    columns: pa.Schema

    def rewrite(self) -> Rewrite:
        """Write the payload and what must stay beside it, and say what changes."""
        live = [LiveFile(self.metadata, self.table.io, t) for t in self.table.scan().plan_files()]
        if self.payload.mode is OutputMode.COMPLETE:
            return Rewrite([file.task.file for file in live], self.write())
        touched = {self._record(values): values for values in partitions_of(self.payload)}
        names = self.payload.partition_by
        places = ((place(self.table, file.task.file, names), file) for file in live)
        near = [(touched[record], file) for record, file in places if record in touched]
        keys = pa.schema([self.columns.field(key) for key in self.payload.keys])
        rest = rest_of(near, {*touched.values()}, self.payload, keys)
        return Rewrite([one.file.task.file for one in rest], self.write(rest))

    def write(self, rest: Sequence[Rest[LiveFile]] = ()) -> list[DataFile]:
        """Write the payload; the entries of the new files.

        Args:
            rest: Files of which the payload replaces rows; their other rows are written too.
        """
        touched = list(partitions_of(self.payload))
        return [
            file
            for start in range(0, len(touched), OPEN_FILES)
            for file in self._written(touched[start : start + OPEN_FILES], rest)
        ]

    def _written(
        self, partitions: Sequence[Values], rest: Sequence[Rest[LiveFile]]
    ) -> Iterator[DataFile]:
        # With the ids of the table's fields.
        inside = schema_to_pyarrow(self.metadata.schema())
        folder = self.table.location_provider()
        outputs = {
            values: self.table.io.new_output(folder.new_data_location(f"{uuid.uuid4()}.parquet"))
            for values in partitions
        }
        footers: dict[Values, list[pq.FileMetaData]] = {values: [] for values in partitions}
        with ExitStack() as stack:
            writers = {
                values: stack.enter_context(
                    pq.ParquetWriter(
                        stack.enter_context(output.create()),
                        inside,
                        store_decimal_as_integer=True,
                        metadata_collector=footers[values],
                    )
                )
                for values, output in outputs.items()
            }
            write_rows(writers, inside, self.payload, rest)
        for values, output in outputs.items():
            footer = footer_of(footers[values][0], len(output))
            record = dict(zip(self.payload.partition_by, self._record(values), strict=True))
            partition = [record[field.name] for field in self.metadata.spec().fields]
            yield data_file(self.metadata, output.location, footer, partition)

    def _record(self, values: Values) -> tuple[object, ...]:
        """A partition as Iceberg holds it, in the order of `partition_by`."""
        pairs = zip(self.payload.partition_by, values, strict=True)
        return tuple(partition_value(text, self.columns.field(name).type) for name, text in pairs)
