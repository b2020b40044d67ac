"""Rename: a pipeline's folder gets another name, and goes on under it with all that it has done.

A rename is a relocation within the root. The relocation is begun under the old name, from which on
everybody else is refused; then the folder gets its new name, by one call; then its paths are
rewritten there. A rename that was killed is finished by the next one, wherever it was.

In an object store the folder is copied under its new name, where everybody is refused too; once all
of it is there, the register of pipelines says so, and what has the old name is removed.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.generations.relocation import rewrites
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.targets import DeltaTarget, FilesTarget
from tidemill.steps.decisions.placed_objects import place_objects
from tidemill.steps.decisions.readers import readers_of
from tidemill.steps.decisions.relocate import (
    PATIENCE_SECONDS,
    RelocationPlan,
    parted,
    plan_relocation,
    refuse_published_paths,
    relocate,
)
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.folders import remove_folder
from tidemill.storage.lease import Lease, hold
from tidemill.storage.relocations import (
    RELOCATE,
    Relocation,
    begin_relocation,
    refuse_unfinished,
    relocation_file,
    unfinished_relocation,
)
from tidemill.storage.root_identity import (
    is_registered,
    register_rename,
    renamed_to,
    root_id_of,
)
from tidemill.storage.sync import sync_folder


class NothingToRename(UsageError):
    """The root has no folder of the old name; carries `folder`."""


class NameTaken(UsageError):
    """The new name is, or was, that of another pipeline; carries `name`."""


class TableRead(Refused):
    """Other pipelines read the table under the old name; carries `readers`."""


@dataclass(frozen=True)
class RenamePlan:
    """What a rename would do.

    Args:
        old: The folders under the old name.
        new: The folders under the new name.
        origin: The folder for which the paths in it were written.
        moved: Whether the folder has its new name already, as an interrupted rename left it.
        targets: The targets elsewhere, which keep the name that they know.
    """

    old: Layout
    new: Layout
    origin: Path
    moved: bool
    targets: tuple[str, ...]

    def phrases(self) -> Iterator[str]:
        """What would be done, as phrases."""
        in_bucket = isinstance(self.old.root, ObjectPath)
        if in_bucket and not self.moved:
            yield f"copy all of {self.old.home} to {self.new.home}"
        if in_bucket:
            yield f"remove {self.old.home}"
        elif not self.moved:
            yield f"rename {self.old.home} to {self.new.home}"
        yield f"rewrite the paths in it for {self.new.home}"
        yield f"refuse runs of {self.old.name}, whose name stays with this pipeline"
        for target in self.targets:
            yield f"leave {target} as it is: it goes on knowing the pipeline by its first name"


def plan_rename(pipeline: Pipeline, new_name: str) -> RenamePlan:
    """Find out what a rename would do; nothing is changed.

    Args:
        pipeline: Under its old name.

    Raises:
        NothingToRename: there is no folder of the old name.
        NameTaken: the new name is another pipeline's.
        TableRead: another pipeline reads the table.
        PathsPublished: a target of the spec holds absolute paths.
        RelocationUnfinished: a relocation to another place was begun.
        Refused: as `plan_relocation`.
    """
    old, new = pipeline.layout, Layout(pipeline.layout.root, new_name)
    targets = tuple(
        one.name for one in pipeline.spec.publish if not isinstance(one, DeltaTarget | FilesTarget)
    )
    begun = unfinished_relocation(new.home)
    resumed = begun is not None and begun.renames and begun.origin == old.home
    in_bucket = isinstance(old.root, ObjectPath)
    if resumed and not (in_bucket and renamed_to(old) != new.name):
        return RenamePlan(old, new, old.home, moved=True, targets=targets)
    if not old.home.is_dir():
        raise NothingToRename(
            f"{old.home} is not there, so {old.name} cannot be renamed.",
            remedy="Correct the name, or TIDEMILL_ROOT.",
            folder=old.home,
        )
    if not resumed:
        _refuse_taken(old, new)
    begun = unfinished_relocation(old.home)
    if begun is not None and begun.home != new.home:
        refuse_unfinished(old.home)
    readers = sorted(readers_of(old.name))
    if readers:
        raise TableRead(
            f"{', '.join(readers)} read the table of {old.name} by that name, and what they have "
            "read of it counts for that name only.",
            remedy="Keep the name. Or remove these sources first, and add sources of other names "
            "for the renamed table afterwards: all of it is then read again.",
            readers=readers,
        )
    refuse_published_paths(pipeline)
    found = plan_relocation(pipeline)
    # A log that cannot be rewritten is to be found before the folder is renamed.
    for _ in rewrites(old):
        pass
    return RenamePlan(old, new, found.origin, moved=False, targets=targets)


def rename(pipeline: Pipeline, new_name: str, run_id: str) -> RelocationPlan:
    """Rename a pipeline, or go on with what was interrupted.

    Args:
        pipeline: Under its old name.

    Returns:
        What was rewritten.

    Raises:
        LeaseHeld: a process writes to the pipeline, or builds a generation of it.
        Refused: as `plan_rename`; nothing was changed.
    """
    plan = plan_rename(pipeline, new_name)
    in_bucket, written = isinstance(plan.old.root, ObjectPath), tuple[Path, ...]()
    if not plan.moved:
        with ExitStack() as stack:
            leases = _leases(plan.old, run_id, stack)
            plan = plan_rename(pipeline, new_name)
            begun = _begin(plan, run_id, leases[0].epoch)
            if in_bucket:
                written = place_objects(plan.old, plan.new, begun, leases)
                register_rename(plan.old, plan.new)
        # The lease is in the folder: whoever takes it from here on is refused.
        if not in_bucket:
            with disk_errors(plan.old.home):
                plan.old.home.rename(plan.new.home)
                sync_folder(plan.new.root)
    if in_bucket:
        _remove(plan.old)
    done = relocate(replace(pipeline, name=new_name, layout=plan.new), run_id)
    entries, notes = parted(plan.new, written)
    return replace(done, entries=(*entries, *done.entries), notes=(*notes, *done.notes))


def _remove(old: Layout) -> None:
    """Remove what has the old name; the document that refuses its runs comes last."""
    last = relocation_file(old.home, 1).parent
    for one in old.home.iterdir() if old.home.is_dir() else ():
        if one != last:
            remove_folder(one)
    remove_folder(old.home)


def _leases(old: Layout, run_id: str, stack: ExitStack) -> list[Lease]:
    builds = sorted(old.generations.glob("*.lease"))
    return [
        stack.enter_context(hold(lease, step=RELOCATE, run_id=run_id, patience=PATIENCE_SECONDS))
        for lease in (old.lease, *builds)
    ]


def _begin(plan: RenamePlan, run_id: str, epoch: int) -> Relocation:
    begun = unfinished_relocation(plan.old.home)
    if begun is None:
        begun = Relocation(
            origin=plan.origin,
            home=plan.new.home,
            root=root_id_of(plan.old.root),
            copied=False,
            run_id=run_id,
            epoch=epoch,
            began=wall_clock(),
        )
        begin_relocation(plan.old.home, begun)
    return begun


def _refuse_taken(old: Layout, new: Layout) -> None:
    if new == old:
        why = "is its name already"
    elif new.home.exists():
        why = f"has a folder: {new.home}"
    elif is_registered(new) and not _leads_to(new, old):
        why = "is, or was, that of another pipeline of this root"
    else:
        return
    raise NameTaken(
        f"{old.name} cannot be renamed: '{new.name}' {why}.",
        remedy="Choose another name.",
        name=new.name,
    )


def _leads_to(layout: Layout, to: Layout) -> bool:
    """Whether a name was given up for another one, at once or by way of others."""
    while name := renamed_to(layout):
        layout = Layout(layout.root, name)
    return layout == to
