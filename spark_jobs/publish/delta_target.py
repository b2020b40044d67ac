"""The Delta target: the sink's own files become visible, without a copy, in one commit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable
from deltalake.transaction import AddAction, create_table_with_add_actions

from spark_jobs.contract.layout import Layout
from spark_jobs.ledger.batches import Batch, Ledger
from spark_jobs.ledger.journal import Event
from spark_jobs.ledger.note import Note
from spark_jobs.publish import commit
from spark_jobs.publish.books import Audited, audit
from spark_jobs.publish.rejected import RejectedTable
from spark_jobs.publish.statistics import delta_statistics
from spark_jobs.publish.table_schema import born_schema, new_columns

ENGINE_COLUMNS = frozenset({"_reject"})


@dataclass(frozen=True)
class DeltaTarget:
    """The published table of one pipeline.

    Args:
        layout: Of the pipeline.
        note: Of the generation that is published.
        epoch: Of the lease.
    """

    layout: Layout
    note: Note
    epoch: int
    kind: str = "delta"

    def head(self, generation: str) -> int:
        return commit.head(commit.load(self.layout.table), self._app(generation))

    def apply(self, event: Event, batches: list[Batch]) -> int:
        audited = audit(event, batches, self.layout.sink(event.generation))
        app = self._app(event.generation)
        # The rejected copies go first: the table's own commit is the point of truth, and a reader
        # of the books counts rejected rows up to its batch.
        RejectedTable(self.layout, app, self.epoch).apply(event, audited)
        files = [one for one in audited if not one.file.rejected and one.file.rows]

        def publish(table: DeltaTable | None) -> None:
            self._commit(table, event, app, files, batches)

        commit.compare_and_commit(self.layout.table, event, app, self.epoch, publish)
        return self.version(event)

    def version(self, event: Event) -> int:
        """The version in which an event became visible."""
        table = DeltaTable(self.layout.table)
        for entry in table.history():
            if entry.get("tidemill.journal") == str(event.seq):
                return int(entry["version"])
        return table.version()

    def _app(self, generation: str) -> str:
        return commit.application(self.layout.name, generation)

    def _commit(
        self,
        table: DeltaTable | None,
        event: Event,
        app: str,
        files: list[Audited],
        batches: list[Batch],
    ) -> None:
        partitions = list(self.note.partition_by)
        starts = {batch.start for batch in batches}
        schema = table.schema() if table else born_schema(self._columns(batches[-1]))
        added = new_columns(
            schema, partitions, [one.footer for one in files], ENGINE_COLUMNS, len(starts) > 1
        )
        if table is not None and added:
            # A commit of its own; the adds then start from a snapshot that is compared anew.
            table.alter.add_columns(added)
            raise commit.SnapshotStale(", ".join(field.name for field in added))
        columns = [field.name for field in schema.fields]
        prefix = self.layout.sink(event.generation).name
        actions = [
            AddAction(
                path=f"{prefix}/{one.file.path}",
                size=one.file.size,
                partition_values={name: one.file.partition[name] for name in partitions},
                modification_time=int(one.path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(one.footer, columns),
            )
            for one in files
        ]
        properties = commit.properties(event, app, self.epoch, commit_metadata(event, batches))
        if table is None:
            create_table_with_add_actions(
                str(self.layout.table),
                schema,
                actions,
                mode="error",
                partition_by=partitions,
                name=self.layout.name,
                commit_properties=properties,
            )
        else:
            table.create_write_transaction(
                list(actions), "append", schema, partitions, commit_properties=properties
            )

    def _columns(self, batch: Batch) -> dict[str, Any]:
        return Ledger(self.layout, batch.generation).table_schema(batch)


def commit_metadata(event: Event, batches: list[Batch]) -> dict[str, str]:
    """What a commit says of itself in the table's history; text only, as Delta wants it."""
    return {
        "tidemill.journal": str(event.seq),
        "tidemill.increment": f"{event.increment:06d}",
        "tidemill.batches": f"{event.generation}:{event.first}-{event.last}",
        "tidemill.run_id": event.run_id,
        "tidemill.offsets": json.dumps(batches[-1].offsets, sort_keys=True),
        "tidemill.verdict": json.dumps(event.verdict, sort_keys=True),
        **({"tidemill.release": json.dumps(event.release)} if event.release else {}),
    }
