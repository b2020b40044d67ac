"""Relocation: the paths of a pipeline's folder are written again for where it is now.

An intent comes first, from which on everybody else is refused, then each file whole or not at all,
and at last the document that ends it. One that was killed is finished by the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.generations.relocation import Rewrite, notes, rewrites
from tidemill.spec.iceberg_target import IcebergTarget
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.lease import hold
from tidemill.storage.relocations import (
    RELOCATE,
    Relocated,
    Relocation,
    begin_relocation,
    end_relocation,
    refuse_unfinished,
    unfinished_relocation,
)
from tidemill.storage.root_identity import (
    is_registered,
    register_rename,
    root_id_of,
    verify_born_here,
)
from tidemill.storage.sync import put_whole

# A person waits at the other end.
PATIENCE_SECONDS = 5.0


class NothingToRelocate(UsageError):
    """The root has no folder of the pipeline; carries `folder`."""


class OldPlaceInUse(Refused):
    """The folder for which the paths were written is still there; carries `origin` and `home`.

    Two folders with the same books would write to the same targets.
    """


class PathsPublished(Refused):
    """A target names the files by their absolute paths; carries `target`."""


@dataclass(frozen=True)
class RelocationPlan:
    """What a relocation has to do.

    Args:
        home: The pipeline's folder.
        origin: The folder for which its paths were written; `home` itself where they are right.
        entries: Files of sink logs that name another place.
        notes: Notes of generations that do.
        unfinished: Whether one was begun, and is to be finished.
    """

    home: Path
    origin: Path
    entries: tuple[Path, ...]
    notes: tuple[Path, ...]
    unfinished: bool

    @property
    def needed(self) -> bool:
        return bool(self.entries or self.notes or self.unfinished)


def plan_relocation(pipeline: Pipeline) -> RelocationPlan:
    """Find the files that name another place than where they are; nothing is changed.

    Raises:
        NothingToRelocate: there is no folder.
        RootForeign: the folder was born in another root.
        OldPlaceInUse: what it was moved from is still there.
        PathsPublished: a target of the spec holds absolute paths.
        EntryForeign: a log names a file that the ledger does not know.
    """
    layout = pipeline.layout
    if not layout.home.is_dir():
        raise NothingToRelocate(
            f"{layout.home} is not there, so {layout.name} has no paths to rewrite.",
            remedy="Set TIDEMILL_ROOT to the folder that the root was moved to.",
            folder=layout.home,
        )
    begun = unfinished_relocation(layout.home)
    copied = begun is not None and begun.copied
    origin = layout.home if begun is None else begun.origin
    for file, note in notes(layout):
        if not copied:
            verify_born_here(layout, note.root, file)
        if note.sink != layout.sink(note.generation):
            origin = note.sink.parents[1]
    found = [one.file for one in _rewrites(layout, begun)]
    entries, notes_found = parted(layout, found)
    plan = RelocationPlan(
        home=layout.home,
        origin=origin,
        entries=entries,
        notes=notes_found,
        unfinished=begun is not None,
    )
    if plan.needed and not copied:
        _refuse_two_places(plan)
        refuse_published_paths(pipeline)
    return plan


def parted(layout: Layout, files: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Files that are to be written again, or were: those of sink logs, and notes."""
    entries = tuple(one for one in files if one.is_relative_to(layout.table))
    return entries, tuple(one for one in files if one not in entries)


def relocate(pipeline: Pipeline, run_id: str) -> RelocationPlan:
    """Write the paths again for where the folder is, or go on with what was interrupted.

    Returns:
        What was done.

    Raises:
        LeaseHeld: another process writes to the pipeline.
        RelocationUnfinished: a rename or a copy in an object store is to be finished first.
        Refused: as `plan_relocation`; nothing was written.
    """
    layout, patience = pipeline.layout, PATIENCE_SECONDS
    with hold(layout.lease, step=RELOCATE, run_id=run_id, patience=patience) as lease:
        _refuse_half_copied(layout)
        plan = plan_relocation(pipeline)
        if not plan.needed:
            return plan
        begun = unfinished_relocation(layout.home)
        if begun is None or begun.home != layout.home:
            begun = Relocation(
                origin=plan.origin,
                home=layout.home,
                root=root_id_of(layout.root),
                copied=begun is not None and begun.copied,
                run_id=run_id,
                epoch=lease.epoch,
                began=wall_clock(),
            )
            begin_relocation(layout.home, begun)
        for one in _rewrites(layout, begun):
            lease.check()
            with disk_errors(one.file):
                put_whole(one.file, one.text)
        lease.check()
        _register(layout, begun)
        files = len(plan.entries) + len(plan.notes)
        end_relocation(layout.home, Relocated(files=files, at=wall_clock()))
    return plan


def _rewrites(layout: Layout, begun: Relocation | None) -> Iterator[Rewrite]:
    # The generations of a moved root are its own; those of a copy get the root that it came to.
    return rewrites(layout, begun.root if begun is not None and begun.copied else None)


def _register(layout: Layout, done: Relocation) -> None:
    """List a pipeline that has come to another name; what was shown under the old one goes."""
    if not done.renames:
        return
    register_rename(Layout(layout.root, done.origin.name), layout)
    layout.status.unlink(missing_ok=True)


def _refuse_half_copied(layout: Layout) -> None:
    """Refuse a folder that a rename, a copy or a fork in an object store has not copied whole.

    Raises:
        RelocationUnfinished: only that command can finish it.
    """
    begun = unfinished_relocation(layout.home)
    if begun is None or not isinstance(layout.root, ObjectPath):
        return
    if begun.forks:
        whole = False
    elif begun.renames:
        whole = begun.home == layout.home and not begun.origin.is_dir()
    else:
        # A copy is listed once all of it is there.
        whole = begun.home != layout.home or not begun.copied or is_registered(layout)
    if not whole:
        refuse_unfinished(layout.home)


def _refuse_two_places(plan: RelocationPlan) -> None:
    there = plan.origin / "checkpoints"
    if plan.origin == plan.home or not there.is_dir():
        return
    # A link to the new place is the new place; a store has none.
    on_disk = not isinstance(plan.origin, ObjectPath) and not isinstance(plan.home, ObjectPath)
    if on_disk and there.samefile(plan.home / "checkpoints"):
        return
    raise OldPlaceInUse(
        f"{plan.home} was written as {plan.origin}, which is still there: runs of both would "
        "publish the same rows.",
        remedy=f"Move {plan.origin} away or remove it, if {plan.home} is to go on. For a copy, set "
        f"TIDEMILL_ROOT to {plan.origin.parent}, then: tidemill relocate {plan.home.name} "
        "--copy-to FOLDER",
        origin=plan.origin,
        home=plan.home,
    )


def refuse_published_paths(pipeline: Pipeline) -> None:
    """Refuse to change paths that others have been told.

    Raises:
        PathsPublished: a target of the spec holds absolute paths.
    """
    for target in pipeline.spec.publish:
        if isinstance(target, IcebergTarget):
            raise PathsPublished(
                f"{target.name} names the files of {pipeline.name} by their absolute paths.",
                remedy=f"Take it out of `publish` and relocate; then put it back, remove "
                f"{target.held_in}, and: tidemill target repair {pipeline.name} {target.name}",
                target=target.name,
            )
