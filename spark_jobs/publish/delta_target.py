"""The Delta target: the sink's own files become visible, without a copy, in one commit."""

from __future__ import annotations

import json
from dataclasses import dataclass

from deltalake import DeltaTable, Schema, Transaction
from deltalake.transaction import AddAction, create_table_with_add_actions

from spark_jobs.contract.errors import Refused
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


class HeadUnexplained(Refused):
    """The table counts batches as published that it does not hold; carries `head`."""


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
        if self.head(event.generation) < event.last:
            self._publish(event, batches)
        return self._version(event)

    def _publish(self, event: Event, batches: list[Batch]) -> None:
        audited = audit(event, batches, self.layout.sink(event.generation))
        app = self._app(event.generation)
        # The rejected copies go first: the table's own commit is the point of truth, and a reader
        # of the books counts rejected rows up to its batch.
        RejectedTable(self.layout, app, self.epoch).apply(event, audited)
        files = [one for one in audited if not one.file.rejected and one.file.rows]

        def publish(table: DeltaTable | None) -> None:
            self._commit(table, event, app, files, batches)

        commit.compare_and_commit(self.layout.table, event, app, self.epoch, publish)

    def _version(self, event: Event) -> int:
        """The version in which an event became visible.

        That the table's head is past the event proves nothing: where ledger and journal began anew
        beside an old table, it counts the old batches, and these would be taken for published.

        Raises:
            HeadUnexplained: no commit in the table's history is that of these files.
        """
        table = DeltaTable(self.layout.table)
        own = commit_identity(event)
        for entry in table.history():
            if own.items() <= entry.items():
                return int(entry["version"])
        raise HeadUnexplained(
            f"{self.layout.table} counts batch {event.last} of {event.generation} as published, "
            "and no commit in its history holds these files.",
            remedy="Restore ledger/, increments/ and journal/ from the backup that belongs to this "
            f"table, or set {self.layout.home} aside to begin anew.",
            path=self.layout.table,
            increment=event.increment,
            head=self.head(event.generation),
        )

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
        schemas = self._schemas(batches)
        schema = table.schema() if table else schemas[-1]
        added = new_columns(
            schema, partitions, [one.footer for one in files], ENGINE_COLUMNS, _not_in_all(schemas)
        )
        if table is not None and added:
            # A commit of its own; the adds then start from a snapshot that is compared anew.
            said = {"tidemill.increment": f"{event.increment:06d}", "tidemill.run_id": event.run_id}
            table.alter.add_columns(added, commit_properties=commit.properties(self.epoch, said))
            raise commit.SnapshotStale(", ".join(field.name for field in added))
        schema = Schema([*schema.fields, *added])
        columns = [field.name for field in schema.fields if field.name not in partitions]
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
        properties = commit.properties(
            self.epoch, commit_metadata(event, batches), Transaction(app, event.last)
        )
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

    def _schemas(self, batches: list[Batch]) -> list[Schema]:
        """The columns by each version of the code that wrote the batches, the newest last."""
        last = {batch.start: batch for batch in batches}
        ledger = Ledger(self.layout, self.note.generation)
        return [born_schema(ledger.table_schema(last[start])) for start in sorted(last)]


def _not_in_all(schemas: list[Schema]) -> set[str]:
    names = [{str(field.name) for field in schema.fields} for schema in schemas]
    return {name for name in set().union(*names) if not all(name in known for known in names)}


def commit_identity(event: Event) -> dict[str, str]:
    """What tells the commit of an event from every other."""
    return {
        "tidemill.batches": f"{event.generation}:{event.first}-{event.last}",
        "tidemill.files": event.files_hash,
    }


def commit_metadata(event: Event, batches: list[Batch]) -> dict[str, str]:
    """What a commit says of itself in the table's history; text only, as Delta wants it."""
    return {
        **commit_identity(event),
        "tidemill.journal": str(event.seq),
        "tidemill.increment": f"{event.increment:06d}",
        "tidemill.run_id": event.run_id,
        "tidemill.offsets": json.dumps(batches[-1].offsets, sort_keys=True),
        "tidemill.verdict": json.dumps(event.verdict, sort_keys=True),
        **({"tidemill.release": json.dumps(event.release)} if event.release else {}),
    }
