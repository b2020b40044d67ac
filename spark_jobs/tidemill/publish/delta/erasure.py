"""Erased rows leave a Delta table: its files in the newest version, and what its log says of them.

Older versions name files that are gone then, as after a vacuum. Their entries stay, without the
statistics of those files, which hold values of rows.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.delta_log import DIGITS, LOG, actions_of
from tidemill.file_formats.parquet import read_footer
from tidemill.publish.delta import commit
from tidemill.publish.delta.commit import AnyTurn
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.publish.delta.log_head import FILES, JOURNAL
from tidemill.publish.delta.statistics import delta_statistics
from tidemill.publish.delta.table_sync import sync_table
from tidemill.storage.folders import walk
from tidemill.storage.sync import put_whole

# The actions that name a file, perhaps with values of its rows.
NAMING = ("add", "remove")


def live_paths(path: Path) -> set[Path]:
    """The data files of a table's newest version; none where there is no table."""
    table = commit.load(path)
    return {file.path for file in live_files(table, path)} if table else set()


def replace_files(
    layout: Layout, path: Path, replaced: Mapping[Path, Path], epoch: int, said: Mapping[str, str]
) -> None:
    """Put files without rows in the place of others, in one commit; nothing where none is live.

    Args:
        path: The table's root.
        replaced: File -> the same without its erased rows; one without rows is not added.
        epoch: The epoch of the lease that the caller holds.
        said: What the commit says of itself.

    Raises:
        LeaseLost: the table has seen a newer epoch.
        CommitContended: other writers won every time.
    """

    def write(table: DeltaTable | None) -> None:
        gone = [one for one in live_files(table, path) if one.path in replaced] if table else []
        if table is None or not gone:
            return
        partitions = table.metadata().partition_columns
        columns = pa.schema(table.schema().to_arrow()).names
        own = [name for name in columns if name not in partitions]
        adds = [_add(path, one, replaced[one.path], own) for one in gone]
        table.create_write_transaction(
            [*(one.removal() for one in gone), *(one for one in adds if one is not None)],
            "append",
            table.schema(),
            partitions,
            commit_properties=commit.properties(epoch, {**said}, exactly=True),
            post_commithook_properties=commit.LOG_KEPT,
        )

    commit.compare_and_commit(path, AnyTurn(layout), epoch, write)


def _add(root: Path, file: LiveFile, new: Path, columns: list[str]) -> AddAction | None:
    footer = read_footer(new)
    if not footer.rows:
        return None
    return AddAction(
        path=str(new.relative_to(root)),
        size=footer.size,
        partition_values=dict(file.partition),
        modification_time=int(new.stat().st_mtime * 1000),
        data_change=True,
        stats=delta_statistics(footer, columns),
    )


def forget_files(
    layout: Layout, path: Path, gone: Collection[Path], hashes: Mapping[int, str]
) -> None:
    """Take the statistics of files out of a table's log.

    The entries are written again; of its checkpoints only a new one stays.

    Args:
        path: The table's root.
        gone: The files that hold erased rows; no live one.
        hashes: Event -> the hash of its files, where these are others now.
    """
    table = commit.load(path)
    if table is None:
        return
    there = {place / name for place, _, names in walk(path) for name in names}.difference(gone)
    for entry in sorted((path / LOG).glob("*.json")):
        text = _without(entry, path, there, hashes)
        if text is not None:
            put_whole(entry, text)
    table.create_checkpoint()
    sync_table(path, layout.root)
    newest = f"{table.version():0{DIGITS}d}"
    for old in sorted((path / LOG).glob("*.checkpoint*.parquet")):
        if not old.name.startswith(newest):
            old.unlink(missing_ok=True)


def _without(
    entry: Path, root: Path, there: Collection[Path], hashes: Mapping[int, str]
) -> str | None:
    actions = actions_of(entry)
    if actions is None:
        return None
    changed = [*_changed(actions, root, there, hashes)]
    if changed == actions:
        return None
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in changed)


def _changed(
    actions: list[dict[str, Any]], root: Path, there: Collection[Path], hashes: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    for action in actions:
        (kind, said), *_ = action.items()
        if kind in NAMING and _named(said, root) not in there:
            yield {kind: {name: value for name, value in said.items() if name != "stats"}}
        elif kind == "commitInfo" and FILES in said and int(said.get(JOURNAL, 0)) in hashes:
            yield {kind: {**said, FILES: hashes[int(said[JOURNAL])]}}
        else:
            yield action


def _named(said: Mapping[str, Any], root: Path) -> Path:
    """The file that an action names."""
    return root / unquote(urlparse(said["path"]).path)


def values_in_log(file: Path, there: Collection[Path]) -> str:
    """What an entry or a checkpoint of a log says of commits, and of files that are gone.

    Args:
        there: Every file of the table.
    """
    root = file.parent.parent
    actions = _checkpoint(file) if file.suffix == ".parquet" else actions_of(file)
    said = ((kind, value) for one in actions or () for kind, value in one.items() if value)
    told = (
        value
        for kind, value in said
        if kind == "commitInfo" or (kind in NAMING and _named(value, root) not in there)
    )
    return json.dumps([*told], default=str, ensure_ascii=False)


def _checkpoint(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(arrow_source(file)).to_pylist()
    return found
