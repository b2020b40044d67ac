"""Replaces all files of a table, perhaps with other columns, in one version.

Readers see the old table or the new one. The table keeps its history, and its files stay on disk
until VACUUM, so that an older version can still be read.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.file_formats.delta_log import DIGITS, LOG, actions_of
from tidemill.publish.delta.commit import SnapshotStale


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
        schema: From now on, with partition columns.
        partitions: The partition columns from now on.
        adds: The new files.

    Raises:
        SnapshotStale: somebody else has committed since the snapshot was taken.
    """
    if table.metadata().partition_columns == list(partitions):
        table.create_write_transaction(
            list(adds),
            "overwrite",
            schema,
            list(partitions),
            commit_properties=properties,
            post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
        )
        return
    # The other way keeps the old partition columns, and fails where the schema lacks one; this one
    # looks for the newest version by itself, and replaces whatever it finds (deltalake 1.6.6). So
    # it gets a log of its own, which ends at the snapshot, and its entry is put if absent.
    beside = None if isinstance(root, ObjectPath) else root
    with TemporaryDirectory(prefix="_replace-", dir=beside) as folder:
        _copy_log(root / LOG, Path(folder, LOG), table.version())
        metadata = table.metadata()
        create_table_with_add_actions(
            folder,
            schema,
            list(adds),
            mode="overwrite",
            partition_by=list(partitions),
            name=metadata.name,
            description=metadata.description,
            configuration=metadata.configuration,
            commit_properties=properties,
            post_commithook_properties=PostCommitHookProperties(
                create_checkpoint=False, cleanup_expired_logs=False
            ),
        )
        name = f"{table.version() + 1:0{DIGITS}d}.json"
        _put_if_absent(Path(folder, LOG), root, name, str(metadata.id))


def _copy_log(log: Path, into: Path, version: int) -> None:
    """A log that ends at a version, on a disk."""
    for path in log.rglob("*"):
        number = path.name[:DIGITS]
        if path.is_file() and (not number.isdecimal() or int(number) <= version):
            place = into / path.relative_to(log)
            place.parent.mkdir(parents=True, exist_ok=True)
            # What it says may be newer, and is only a hint.
            if path.name == "_last_checkpoint":
                continue
            if isinstance(path, ObjectPath):
                place.write_bytes(path.read_bytes())
            else:
                os.link(path, place)


def _put_if_absent(log: Path, root: Path, name: str, table_id: str) -> None:
    written = (log / name).read_text(encoding="utf-8")
    actions = actions_of(log / name) or ()
    (made_up,) = (action["metaData"]["id"] for action in actions if "metaData" in action)
    # It says where the table is, and has an id that no stream which reads the table knows.
    text = written.replace(log.parent.as_uri(), root.as_uri()).replace(made_up, table_id)
    place = root / LOG / name
    if isinstance(place, ObjectPath):
        # What is there may be ours: the answer to a put that is repeated was lost.
        if not place.create(text.encode()) and place.read_bytes() != text.encode():
            raise SnapshotStale(f"{name} is there")
        return
    entry = log / f"{name}.entry"
    with entry.open("x", encoding="utf-8") as file:
        file.write(text)
    try:
        os.link(entry, place)
    except FileExistsError as error:
        raise SnapshotStale(f"{name} is there") from error
