"""The Delta target: an event becomes visible in one commit.

In mode `append` that adds the sink's own files, without a copy; in `update` and `complete` files
are rewritten (see `delta_rewrite`). A swap takes the files of its partitions away in the same
commit, a replacement all of them (see `delta_replace`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_table import commits_of, open_table, options_at
from tidemill.journal.journal import Event
from tidemill.publish.delta import commit
from tidemill.publish.delta.live_files import live_files
from tidemill.publish.delta.position import DeltaPosition
from tidemill.publish.delta.replace import replace_all
from tidemill.publish.delta.rewrite import Rewrite, rewrite
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.delta.table_schema import new_columns
from tidemill.publish.delta.table_sync import sync_table
from tidemill.publish.descriptions import described
from tidemill.publish.payload import Payload
from tidemill.publish.target import HeadUnexplained
from tidemill.spec.output import OutputMode

# What may be long in `made`, and stands in the journal.
LISTS = {"replaces_rejects_of", "excludes"}


@dataclass(frozen=True)
class DeltaTarget:
    """The published table of one pipeline.

    Args:
        descriptions: Column -> what readers of a new table are told of it.
        comment: What they are told of the table.
        properties: The table's, by Delta's names; others that it has stay as they are.
    """

    layout: Layout
    epoch: int
    name: str = "delta"
    descriptions: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)

    def find(self, event: Event) -> int | None:
        if not self._turn(event).has(commit.load(self.layout.table)):
            return None
        # Committed by one that may have died over it.
        sync_table(self.layout.table, self.layout.root)
        return self._version(event)

    def apply(self, event: Event, payload: Payload) -> int:
        def publish(table: DeltaTable | None) -> None:
            self._commit(table, event, payload)

        commit.compare_and_commit(self.layout.table, self._turn(event), self.epoch, publish)
        return self._version(event)

    def _turn(self, event: Event) -> DeltaPosition:
        return DeltaPosition(self.layout, event)

    def _version(self, event: Event) -> int:
        """The version in which an event became visible.

        The table's head may be past the event without it: where ledger and journal started over
        beside an old table, it counts the old batches, and these would be taken for published.

        Raises:
            HeadUnexplained: no commit in the table's history is that of these files.
        """
        table = open_table(self.layout.table)
        own = commit_identity(event)
        for entry in commits_of(table):
            if own.items() <= entry.items():
                return int(entry["version"])
        counted = f"batch {event.last} of {event.generation}"
        if not event.in_order:
            counted = f"event {event.seq}"
        raise HeadUnexplained(
            f"{self.layout.table} counts {counted} as published, and no commit in its history "
            "holds these files.",
            remedy="Restore ledger/, increments/ and journal/ from the backup that belongs to this "
            f"table. To start over move {self.layout.home} away, then: tidemill drop "
            f"{self.layout.name}",
            path=self.layout.table,
            increment=event.increment,
            head=self._turn(event).head(table),
        )

    def _commit(self, table: DeltaTable | None, event: Event, payload: Payload) -> None:
        if table is not None:
            self._set_properties(table, event)
        schema = self._schema(table, event, payload)
        change = self._change(table, schema, event, payload)
        properties = commit.properties(
            self.epoch,
            commit_metadata(event, payload),
            *self._turn(event).transactions(),
            exactly=payload.mode is not OutputMode.APPEND or not event.in_order,
        )
        partitions = list(payload.partition_by)
        if event.kind == "replace" and table is not None:
            replace_all(table, self.layout.table, schema, partitions, change.adds, properties)
        elif table is None:
            create_table_with_add_actions(
                str(self.layout.table),
                schema,
                list(change.adds),
                mode="error",
                storage_options=options_at(self.layout.table),
                partition_by=partitions,
                name=self.layout.name,
                description=self.comment or None,
                configuration=self.properties,
                commit_properties=properties,
            )
        else:
            table.create_write_transaction(
                [*change.removes, *change.adds],
                "append",
                schema,
                partitions,
                commit_properties=properties,
                post_commithook_properties=commit.after_commit(self.layout),
            )

    def _change(
        self, table: DeltaTable | None, schema: Schema, event: Event, payload: Payload
    ) -> Rewrite:
        """The files that the commit removes and adds.

        A swap removes every file of its partitions in the current snapshot: the journal
        is applied in order, so all of them are from events that the swap was computed after.
        """
        if event.kind == "reject":
            return Rewrite((), ())
        name = f"part-{event.increment:06d}-{self.epoch:06d}"
        columns = pa.schema(schema.to_arrow())
        if event.in_order and (payload.merged or payload.mode is not OutputMode.APPEND):
            return rewrite(table, self.layout.table, columns, payload, name)
        removes = self._swapped_out(table, event) if event.kind == "swap" else []
        if payload.merged:
            # Its files are beside the increment, outside of the table.
            return Rewrite(removes, rewrite(None, self.layout.table, columns, payload, name).adds)
        return Rewrite(removes, self._adds(schema, payload))

    def _swapped_out(self, table: DeltaTable | None, event: Event) -> list[RemoveAction]:
        partitions = event.recomputation.partitions if event.recomputation else None
        if table is None or partitions is None:
            return []
        live = live_files(table, self.layout.table)
        return [file.removal() for file in live if partitions.hold(file.partition)]

    def _schema(self, table: DeltaTable | None, event: Event, payload: Payload) -> Schema:
        """The table's schema, which now has every column of the payload; of a replaced one its own.

        Raises:
            SnapshotStale: columns were added first, in a commit of their own.
        """
        offered = Schema.from_arrow(described(payload.schema, self.descriptions, "comment"))
        if table is None or event.kind == "replace":
            return offered
        added = new_columns(table.schema(), offered) if payload.files else []
        if added:
            # The adds then start from a snapshot that is compared again.
            table.alter.add_columns(added, **self._before(event))
            raise commit.SnapshotStale(", ".join(one.name for one in added))
        return table.schema()

    def _set_properties(self, table: DeltaTable, event: Event) -> None:
        """Give the table what the spec has changed.

        Raises:
            SnapshotStale: it was done, in a commit of its own.
        """
        now = table.metadata().configuration
        changed = {name: one for name, one in self.properties.items() if now.get(name) != one}
        if changed:
            table.alter.set_table_properties(changed, **self._before(event))
            raise commit.SnapshotStale(", ".join(changed))

    def _before(self, event: Event) -> dict[str, Any]:
        """The arguments of a commit that prepares the table for an event."""
        said = {"tidemill.increment": f"{event.increment:06d}", "tidemill.run_id": event.run_id}
        return {
            "commit_properties": commit.properties(self.epoch, said),
            "post_commithook_properties": commit.after_commit(self.layout),
        }

    def _adds(self, schema: Schema, payload: Payload) -> list[AddAction]:
        """The sink's own files, without a copy."""
        partitions = payload.partition_by
        columns = [field.name for field in schema.fields if field.name not in partitions]
        return [
            AddAction(
                path=str(file.path.relative_to(self.layout.table)),
                size=footer.size,
                partition_values={name: file.partition[name] for name in partitions},
                modification_time=int(file.path.stat().st_mtime * 1000),
                data_change=True,
                stats=delta_statistics(footer, columns),
            )
            for file, footer in zip(payload.files, payload.footers(), strict=True)
        ]


def commit_identity(event: Event) -> dict[str, str]:
    """The commit metadata that identifies an event."""
    identity = {
        "tidemill.batches": f"{event.generation}:{event.first}-{event.last}",
        "tidemill.files": event.files_hash,
    }
    if event.kind == "increment":
        return identity
    # Two of them may stand for the same batches, and hold no file.
    return {**identity, "tidemill.kind": event.kind, "tidemill.journal": str(event.seq)}


def commit_metadata(event: Event, payload: Payload) -> dict[str, str]:
    """The commit metadata for the table's history; text only, as Delta requires."""
    return {
        **commit_identity(event),
        "tidemill.journal": str(event.seq),
        "tidemill.increment": f"{event.increment:06d}",
        "tidemill.run_id": event.run_id,
        "tidemill.offsets": json.dumps(payload.offsets, sort_keys=True),
        "tidemill.verdict": json.dumps(event.verdict, sort_keys=True),
        **({"tidemill.release": json.dumps(event.release)} if event.release else {}),
        **({"tidemill.rejection": json.dumps(event.rejection)} if event.rejection else {}),
        **(
            {"tidemill.recomputation": event.recomputation.model_dump_json(exclude=LISTS)}
            if event.recomputation
            else {}
        ),
    }
