"""An Iceberg table as a target: each event is one snapshot.

In mode `append` it names the sink's own files, without a copy; in `update` and `complete` rows are
written into files of the table (see `rewrite`). A swap removes the files of its partitions in the
same snapshot, a replacement all of them. The catalogue accepts a commit only on the snapshot that
was compared, so a writer that lost its lease loses that race, looks again, and finds a newer epoch.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from tidemill.contract.connections.airflow import connection
from tidemill.contract.errors import TransientError
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event
from tidemill.journal.partition_set import Partitions
from tidemill.publish.descriptions import described
from tidemill.publish.erased_rows import ErasedRows
from tidemill.publish.head import Head, TableTaken, Turn
from tidemill.publish.iceberg.catalog import LOST_RACES, open_catalog, ours
from tidemill.publish.iceberg.columns import (
    add_columns,
    check_partitions,
    columns_of,
    create_columns,
    nullable,
    replace_columns,
)
from tidemill.publish.iceberg.data_files import data_files, swapped_out
from tidemill.publish.iceberg.earlier import EarlierSnapshots
from tidemill.publish.iceberg.erasure import TableErasure
from tidemill.publish.iceberg.rewrite import PayloadWriter, Rewrite
from tidemill.publish.iceberg.snapshots import SNAPSHOT, of_event, of_head, read_head
from tidemill.publish.payload import Payload
from tidemill.spec.iceberg_target import IcebergTarget as Given
from tidemill.spec.output import OutputMode
from tidemill.storage.target_names import name_in_targets

ATTEMPTS = 5
WAIT_SECONDS = 0.1
# How often PyIceberg repeats a commit that lost its race, on a snapshot that we have not seen.
RETRIES = "commit.retry.num-retries"
CREATED = {
    "format-version": "2",
    "commit.manifest-merge.enabled": "true",
}
# Where Spark and Trino look for a table's comment.
COMMENT = "comment"
# The sink's files are the Delta table's too, and other engines may not delete them.
SHARED = {"gc.enabled": "false"}


class CatalogContended(TransientError):
    """Other writers kept committing to the Iceberg table; carries `target`."""


@dataclass
class IcebergTarget:
    """A table in a catalogue.

    Args:
        descriptions: Column -> what readers of a new table are told of it.
        comment: What they are told of the table.
    """

    given: Given
    layout: Layout
    epoch: int
    descriptions: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.given.name

    def find(self, event: Event) -> int | None:
        head = self.read_head()
        return event.seq if head is not None and head.shows(event) else None

    def read_head(self) -> Head | None:
        with self._ours():
            table = self._load()
            return read_head(table) if table is not None else None

    def count_rows(self, rows: ErasedRows) -> int:
        with self._ours():
            found = self._filled()
            return 0 if found is None else TableErasure(self.name, found[0].table, rows).count()

    def erase_rows(self, rows: ErasedRows) -> None:
        self._racing(self._erase_once, rows)

    def _erase_once(self, rows: ErasedRows) -> None:
        found = self._filled()
        if found is None:
            return
        earlier, head = found
        hashed = rows.hashes.get(head.seq, head.files_hash)
        head = replace(self._turn.owned(head), epoch=self.epoch, files_hash=hashed)
        TableErasure(self.name, earlier.table, rows).commit(head)
        self._forget()

    def refuse_kept_past(self) -> None:
        with self._ours():
            found = self._filled()
            if found is not None:
                found[0].refuse_kept()
                found[0].refuse_deletes()

    def forget_past(self) -> None:
        self._racing(self._forget_once)

    def count_past(self, generation: str) -> int:
        with self._ours():
            found = self._filled()
            return 0 if found is None else found[0].count() + (found[1].generation != generation)

    def unnamed_files(self) -> list[str]:
        with self._ours():
            found = self._filled()
            return [] if found is None else found[0].unnamed()

    def _forget_once(self) -> None:
        found = self._filled()
        if found is None:
            return
        earlier, head = found
        earlier.end(replace(self._turn.owned(head), epoch=self.epoch))
        self._forget()

    def _forget(self) -> None:
        table = self._load()
        if table is not None:
            EarlierSnapshots(self.name, table).remove()

    def _filled(self) -> tuple[EarlierSnapshots, Head] | None:
        """The table's snapshots, and its head, if it has rows of the pipeline."""
        table = self._load()
        head = read_head(table) if table is not None else None
        if table is None or head is None or not self._turn.of_pipeline(head).seq:
            return None
        return EarlierSnapshots(self.name, table), head

    def apply(self, event: Event, payload: Payload) -> int:
        self._racing(self._once, event, payload)
        return event.seq

    def _racing(self, once: Callable[..., None], *given: Any) -> None:
        """Commit, on a newer snapshot where another writer was faster."""
        retrying = Retrying(
            retry=retry_if_exception_type(LOST_RACES),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_random_exponential(multiplier=WAIT_SECONDS, max=2),
            reraise=True,
        )
        try:
            with self._ours():
                retrying(once, *given)
        except LOST_RACES as error:
            raise CatalogContended(
                f"{self.name}: another writer committed first, {ATTEMPTS} times ({error}).",
                remedy="The next try starts from the new snapshot.",
                target=self.name,
            ) from error

    def _once(self, event: Event, payload: Payload) -> None:
        table = self._load()
        found = read_head(table) if table is not None else None
        head = found or Head(name_in_targets(self.layout))
        if self._turn.has(head, event):
            return
        if found is None and table is not None:
            self._refuse_strange_rows(table)
        self._commit(
            table, event, payload, head.after(event, name_in_targets(self.layout), self.epoch)
        )

    def _commit(self, table: Table | None, event: Event, payload: Payload, head: Head) -> None:
        offered = described(nullable(payload.schema), self.descriptions, "doc")
        if table is None:
            table = self._create(offered, payload.partition_by)
        known = columns_of(table)
        transaction = table.transaction()
        if event.kind == "replace":
            replace_columns(transaction, known, offered, payload.partition_by)
        elif payload.files:
            check_partitions(transaction.table_metadata, payload.partition_by)
            add_columns(transaction, known, offered)
        change = self._change(table, transaction.table_metadata, event, payload)
        update = transaction.update_snapshot(snapshot_properties=of_event(event, head))
        producer = update.overwrite() if change.removes else update.merge_append()
        for file in change.adds:
            producer.append_data_file(file)
        for file in change.removes:
            producer.delete_data_file(file)
        producer.commit()
        said = {**of_head(head), SNAPSHOT: str(producer.snapshot_id), **self._changed(table)}
        if payload.files and _shared(payload):
            said |= SHARED
        transaction.set_properties(said)
        transaction.commit_transaction()

    def _changed(self, table: Table) -> dict[str, str]:
        """The properties of the spec that the table has otherwise, or not yet."""
        given = self.given.table_properties
        return {name: value for name, value in given.items() if table.properties.get(name) != value}

    def _change(
        self, table: Table, metadata: TableMetadata, event: Event, payload: Payload
    ) -> Rewrite:
        """The files that the snapshot removes and adds.

        Args:
            metadata: The table's, with the columns and partitions of the payload.
        """
        columns = nullable(payload.schema)
        if event.kind == "reject":
            return Rewrite((), ())
        writer = PayloadWriter(table, metadata, payload, columns)
        if event.in_order and not _shared(payload):
            return writer.rewrite()
        removes = self._removed(table, event)
        if not _shared(payload):
            return Rewrite(removes, writer.write())
        return Rewrite(removes, tuple(data_files(metadata, payload, columns)))

    def _removed(self, table: Table, event: Event) -> list[DataFile]:
        if event.in_order:
            return []
        partitions = event.recomputation.partitions if event.recomputation else None
        every = Partitions() if event.kind == "replace" else partitions
        return swapped_out(table, every, columns_of(table))

    def _create(self, columns: pa.Schema, partition_by: Sequence[str]) -> Table:
        """Create the table without a snapshot: from then on its own storage can be written to."""
        self._catalog.create_namespace_if_not_exists(self.given.table.rpartition(".")[0])
        said = {COMMENT: self.comment} if self.comment else {}
        properties = CREATED | said | self.given.table_properties
        transaction = self._catalog.create_table_transaction(
            self.given.table, columns, location=self.given.location, properties=properties
        )
        create_columns(transaction, partition_by)
        transaction.commit_transaction()
        table = self._load()
        if table is None:
            raise CommitFailedException(f"{self.given.table} was dropped again.")
        return table

    def _load(self) -> Table | None:
        try:
            table = self._catalog.load_table(self.given.table)
        except NoSuchTableError:
            return None
        # For our own commits alone: other engines go on as the table says.
        table.metadata = table.metadata.model_copy(
            update={"properties": {**table.metadata.properties, RETRIES: "0"}}
        )
        return table

    def _refuse_strange_rows(self, table: Table) -> None:
        snapshot = table.current_snapshot()
        if snapshot is not None:
            raise TableTaken(
                f"{self.name} has rows, and none of its snapshots says from where.",
                remedy=f"Name another table under `publish`; or {self._turn.refill}.",
                table=self.given.table,
            )

    @cached_property
    def _catalog(self) -> Catalog:
        return open_catalog(self.given)

    @property
    def _turn(self) -> Turn:
        refill = (
            f"remove {self.given.held_in}; the next run fills it again after: tidemill target "
            f"repair {self.layout.name} {self.name}"
        )
        return Turn(self.layout, self.epoch, self.name, self.given.table, refill)

    def _ours(self) -> AbstractContextManager[None]:
        found = connection(self.given.conn_id) if self.given.conn_id is not None else None
        return ours(self.given, found)


def _shared(payload: Payload) -> bool:
    """Whether the table names the payload's files as they are."""
    return payload.mode is OutputMode.APPEND
