"""Drop: removes what a pipeline has under the root, and lets its name start over.

Checkpoint and ledger go first, each by one rename; in an object store, where no folder goes at
once, the query ids of the checkpoints go before them. From then on every run of the pipeline is
refused, so a drop that was killed does no harm, and the next one finishes it. The name can start
over only once the published table is gone too: otherwise the same rows would go into it twice.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.journal.journal import Journal
from tidemill.spec.catalog import find
from tidemill.spec.hive_table import HiveTable
from tidemill.spec.targets import DeltaTarget
from tidemill.steps.decisions.readers import readers_of
from tidemill.storage.folders import remove_folder
from tidemill.storage.lease import hold
from tidemill.storage.relocations import DROP
from tidemill.storage.root_identity import (
    is_registered,
    refuse_renamed,
    register,
    renamed_to,
    unregister,
)
from tidemill.storage.sync import make_folder, sync_folder

PATIENCE_SECONDS = 5.0
# Without these no step takes a folder for a pipeline's.
BOOKS = ("checkpoints", "ledger")
# What consumers read.
PUBLISHED = ("table", "rejected", "published")
# Targets whose rows are below the root.
BELOW_ROOT = ("delta", "files")


class NothingToDrop(UsageError):
    """The root knows nothing of a pipeline; carries `pipeline`."""


@dataclass(frozen=True)
class DropPlan:
    """What a drop removes and what it leaves.

    Args:
        removes: Folders and files, in order.
        keeps: What consumers read and stays below the root.
        targets: The targets elsewhere, which keep their rows.
        catalog: Where a metastore names the table, which goes with it.
        spec: The file from which a next run would start over; None where there is none.
        readers: Pipelines that read the table.
        starts_over: Whether the name is free afterwards.
    """

    removes: tuple[Path, ...]
    keeps: tuple[Path, ...]
    targets: tuple[str, ...]
    catalog: HiveTable | None
    spec: Path | None
    readers: tuple[str, ...]
    starts_over: bool


def plan_drop(layout: Layout, *, table: bool, environ: Mapping[str, str] = os.environ) -> DropPlan:
    """Find out what a drop would do.

    Args:
        table: Whether the published table goes too.

    Raises:
        NothingToDrop: there is neither a spec nor a folder nor a record of the pipeline.
        PipelineRenamed: the pipeline goes on, and targets know its rows under this name.
    """
    _refuse_name_in_use(layout)
    there = sorted(layout.home.iterdir()) if layout.home.is_dir() else []
    targets, catalog, spec = _spec(layout, environ)
    if not there and spec is None and not is_registered(layout):
        raise NothingToDrop(
            f"{layout.root} knows no pipeline '{layout.name}'.",
            remedy="Correct the name: no spec, folder or record has it.",
            pipeline=layout.name,
        )
    keeps = [] if table else [path for path in there if path.name in PUBLISHED]
    removes = [path for path in there if path not in keeps]
    return DropPlan(
        removes=tuple(sorted(removes, key=_turn)),
        keeps=tuple(keeps),
        targets=targets,
        catalog=None if keeps else catalog,
        spec=spec,
        readers=() if keeps else tuple(readers_of(layout.name, environ)),
        starts_over=not keeps,
    )


def drop(
    layout: Layout, *, table: bool, run_id: str, catalog: HiveTable | None = None
) -> Iterator[Path]:
    """Remove a pipeline under its lease; one that was interrupted is finished by the next.

    Args:
        catalog: Where a metastore names the table; it forgets the name before anything goes.

    Yields:
        The path of each folder or file, after it was removed.

    Raises:
        LeaseHeld: another process writes to the pipeline.
        TidemillError: the metastore does not answer, or refuses; nothing was removed.
    """
    waste = layout.root / ".tidemill" / "dropped" / layout.name
    if layout.home.is_dir():
        # So that what is left of it is refused, and not taken for a new pipeline.
        register(layout)
        patience = PATIENCE_SECONDS
        with hold(layout.lease, step=DROP, run_id=run_id, patience=patience) as lease:
            _forget_name(layout, catalog)
            for path in _query_ids(layout):
                path.unlink(missing_ok=True)
            for path in plan_drop(layout, table=table, environ={}).removes:
                lease.check()
                if path != layout.lease:
                    _put_away(path, waste)
                    yield path
        _put_away(layout.lease, waste)
        yield layout.lease
        if layout.home.is_dir() and not any(layout.home.iterdir()):
            layout.home.rmdir()
    else:
        _forget_name(layout, catalog)
    _remove(waste)
    _remove(layout.forks)
    if not layout.home.is_dir():
        unregister(layout)


def _forget_name(layout: Layout, catalog: HiveTable | None) -> None:
    if catalog is not None:
        from tidemill.publish.hive.registration import unregister as unregister_table

        unregister_table(layout, catalog)


def _turn(path: Path) -> tuple[int, str]:
    order = {**{name: at for at, name in enumerate(BOOKS)}, "lease": len(BOOKS) + 1}
    return order.get(path.name, len(BOOKS)), path.name


def _query_ids(layout: Layout) -> Iterator[Path]:
    """The files without which no run takes the folders of checkpoints for its own."""
    if isinstance(layout.root, ObjectPath):
        yield from (layout.home / "checkpoints").glob("*/metadata")


def _put_away(path: Path, waste: Path) -> None:
    """Remove a path at one blow, and then what was below it."""
    place = waste / path.name
    _remove(place)
    make_folder(waste)
    if isinstance(path, ObjectPath):
        place = path
    else:
        path.rename(place)
        sync_folder(path.parent)
    _remove(place)


def _remove(path: Path) -> None:
    # A link to another disk is removed alone.
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def _spec(
    layout: Layout, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], HiveTable | None, Path | None]:
    """The targets outside of the root, from the spec or the journal.

    Then the table's name in a metastore, and the spec's file.
    """
    try:
        file = find(layout.name, environ)
    except TidemillError:
        journal = Journal(layout.journal)
        known = journal.targets_of(journal.newest())
        return tuple(name for name in known if name not in BELOW_ROOT), None, None
    try:
        publish = file.load(environ).publish
    except TidemillError:
        return (), None, file.path
    catalogs = [one.catalog for one in publish if isinstance(one, DeltaTarget) and one.catalog]
    elsewhere = tuple(one.name for one in publish if one.kind not in BELOW_ROOT)
    return elsewhere, next(iter(catalogs), None), file.path


def _refuse_name_in_use(layout: Layout) -> None:
    now = layout
    while name := renamed_to(now):
        now = Layout(layout.root, name)
    if now != layout and is_registered(now):
        refuse_renamed(layout)
