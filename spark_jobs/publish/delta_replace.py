"""All files of a table for others, perhaps of other columns, in one version.

Readers see the old table or the new one. The table keeps its history, and its files stay on disk
until VACUUM, so that an older version can still be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions


def replace_all(
    table: DeltaTable,
    root: Path,
    schema: Schema,
    partitions: Sequence[str],
    adds: Sequence[AddAction],
    properties: CommitProperties,
) -> None:
    """Commit the replacement on a snapshot.

    Args:
        table: The snapshot.
        root: The table's directory.
        schema: From now on, with partition columns.
        partitions: The partition columns from now on.
        adds: The new files.
        properties: Of the commit.
    """
    metadata = table.metadata()
    if metadata.partition_columns == list(partitions):
        table.create_write_transaction(
            list(adds), "overwrite", schema, list(partitions), commit_properties=properties
        )
        return
    # The other way keeps the old partition columns, and fails where the schema lacks one
    # (deltalake 1.6.6).
    create_table_with_add_actions(
        str(root),
        schema,
        list(adds),
        mode="overwrite",
        partition_by=list(partitions),
        name=metadata.name,
        description=metadata.description,
        configuration=metadata.configuration,
        commit_properties=properties,
    )
