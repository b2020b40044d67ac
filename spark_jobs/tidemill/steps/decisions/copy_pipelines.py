"""Copies of pipelines below another root, for a test; the originals get an epoch of their lease.

All leases are held while everything is copied, so that the books of one pipeline agree with each
other and with those of the pipelines that it reads. A copy gets its name when it is whole, and a
relocation that is begun comes with it: until that is finished, its paths lead to the original.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.targets import DeltaTarget, FilesTarget
from tidemill.steps.decisions.placed_objects import copied_files, place_objects, sizes_of
from tidemill.steps.decisions.relocate import PATIENCE_SECONDS, RelocationPlan, relocate
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.lease import Lease, hold, newest_epoch, release
from tidemill.storage.relocations import Relocation, begin_relocation, unfinished_relocation
from tidemill.storage.root_identity import initialise, is_registered, register
from tidemill.storage.sync import make_folder, sync, sync_folder


class CopyReachesOut(Refused):
    """Runs of a copy would change what is not a copy; carries `field`."""


class CopyInPlace(UsageError):
    """A folder cannot take copies; carries `path`."""


@dataclass(frozen=True)
class CopyPlan:
    """What copying a pipeline means.

    Args:
        pipeline: The copy; its folder is below the other root.
        origin: The folder of the original.
        files: How many files there are to copy; 0 for a copy that is only to be finished.
        bytes: Their size.
    """

    pipeline: Pipeline
    origin: Path
    files: int
    bytes: int


def plan_copies(pipelines: Sequence[Pipeline], to: Path) -> list[CopyPlan]:
    """Find out what copies would take; nothing is changed.

    Args:
        to: The root of the copies, another one than that of the pipelines.

    Raises:
        CopyReachesOut: a copy's runs would change what is not a copy.
        CopyInPlace: the folder is the root itself, is in it or around it, or holds a pipeline of
            the same name.
    """
    plans = []
    for pipeline in pipelines:
        refuse_reaching_out(
            pipeline,
            {one.name for one in pipelines},
            "Leave it out in a profile of the spec, and copy and run the copy with "
            "TIDEMILL_PROFILE set to it; or copy the pipelines together.",
        )
        copy = replace(pipeline, layout=Layout(to, pipeline.name))
        _refuse_place(pipeline.layout, copy.layout)
        sizes = [] if _is_whole(copy.layout) else [*_sizes(pipeline.layout.home)]
        plans.append(CopyPlan(copy, pipeline.layout.home, len(sizes), sum(sizes)))
    return plans


def copy_pipelines(
    pipelines: Sequence[Pipeline], to: Path, run_id: str
) -> Iterator[tuple[CopyPlan, RelocationPlan]]:
    """Copy pipelines below another root, and relocate each copy there.

    One that was interrupted is finished by the next.

    Yields:
        Each copy, and what was rewritten in it.

    Raises:
        LeaseHeld: a process writes to one of them.
        Refused: as `plan_copies`; nothing was copied.
    """
    plans = plan_copies(pipelines, to)
    root = initialise(to, environ={}).id
    held = list[Lease]()
    with ExitStack() as leases:
        for one in pipelines:
            place, patience = one.layout.lease, PATIENCE_SECONDS
            taken = hold(place, step="copy", run_id=run_id, patience=patience)
            held.append(leases.enter_context(taken))
        for original, plan, lease in zip(pipelines, plans, held, strict=True):
            home = plan.pipeline.layout.home
            with disk_errors(home):
                if isinstance(home, ObjectPath):
                    _place(original.layout, plan, root, run_id, lease)
                elif not home.exists():
                    _copy(plan, root, run_id)
    for plan in plans:
        yield plan, relocate(plan.pipeline, run_id)


def _copy(plan: CopyPlan, root: str, run_id: str) -> None:
    layout = plan.pipeline.layout
    # Only a folder with the name of a pipeline is taken for one.
    draft = layout.root / ".tidemill" / "copies" / layout.name
    shutil.rmtree(draft, ignore_errors=True)
    copies = []
    for file in copied_files(plan.origin):
        copy = draft / file.relative_to(plan.origin)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copies.append(Path(shutil.copy2(file, copy)))
        except FileNotFoundError:
            # What others remove beside the lease is a draft or a scratch file of theirs.
            continue
    for lease in (draft / "lease", *(draft / "generations").glob("*.lease")):
        # Its holder writes to the original.
        if epoch := newest_epoch(lease):
            release(lease, epoch)
    begin_relocation(draft, _begun(plan, root, run_id, newest_epoch(draft / "lease")))
    sync(copies, draft)
    make_folder(layout.root)
    draft.rename(layout.home)
    sync_folder(layout.root)


def _place(original: Layout, plan: CopyPlan, root: str, run_id: str, lease: Lease) -> None:
    """The same in an object store, where a copy is listed in its root once it is whole."""
    layout = plan.pipeline.layout
    if _is_whole(layout):
        return
    place_objects(original, layout, _begun(plan, root, run_id, lease.epoch), [lease])
    register(layout)


def _begun(plan: CopyPlan, root: str, run_id: str, epoch: int) -> Relocation:
    return Relocation(
        origin=plan.origin,
        home=plan.pipeline.layout.home,
        root=root,
        copied=True,
        run_id=run_id,
        epoch=epoch,
        began=wall_clock(),
    )


def _sizes(home: Path) -> Iterator[int]:
    if isinstance(home, ObjectPath):
        yield from sizes_of(home)
        return
    for file in copied_files(home):
        try:
            yield file.stat().st_size
        except FileNotFoundError:
            continue


def _is_whole(copy: Layout) -> bool:
    in_bucket = isinstance(copy.root, ObjectPath)
    return is_registered(copy) if in_bucket else copy.home.exists()


def _refuse_place(original: Layout, copy: Layout) -> None:
    here, there = original.root.resolve(), copy.root.resolve()
    home = copy.home
    begun = unfinished_relocation(home)
    if here == there or here in there.parents or there in here.parents:
        why = f"is or touches the root {original.root}"
    elif isinstance(here, ObjectPath) != isinstance(there, ObjectPath):
        why = f"is not where {original.root} is: one of them is on a disk"
    elif isinstance(home, ObjectPath) and begun is None and is_registered(copy):
        why = f"has or had a pipeline {copy.name}"
    elif not home.exists() or (begun is not None and begun.origin == original.home):
        return
    else:
        why = f"holds a pipeline {copy.name} already"
    raise CopyInPlace(
        f"{copy.root} {why}.",
        remedy="Give --copy-to a folder of its own, which is not in the root.",
        path=copy.root,
    )


def refuse_reaching_out(pipeline: Pipeline, copied: set[str], remedy: str) -> None:
    """Refuse a copy whose runs would change what is not a copy.

    Args:
        copied: The pipelines whose tables it may read.
        remedy: What to do instead.

    Raises:
        CopyReachesOut: they would.
    """
    for field, why in _reaches(pipeline, copied):
        raise CopyReachesOut(
            f"{pipeline.name}: {field}: {why}.",
            remedy=remedy,
            field=field,
        )


def _reaches(pipeline: Pipeline, copied: set[str]) -> Iterator[tuple[str, str]]:
    spec = pipeline.spec
    if not spec.published:
        yield "sink", "a run of the copy would write to the sink of the original"
    for target in spec.publish:
        if not isinstance(target, DeltaTarget | FilesTarget):
            yield f"publish {target.name}", "a run of the copy would publish there too"
    for name, source in spec.sources_of(FileSource).items():
        if source.cleanSource != "off":
            yield f"sources.{name}.cleanSource", "a run of the copy would put away the input"
        if source.fetch is not None:
            yield f"sources.{name}.fetch", "a run of the copy would copy objects into the input"
    for name, topics in spec.sources_of(KafkaSource).items():
        if topics.commit_to_group is not None:
            yield f"sources.{name}.commit_to_group", "the copy would move the group's offsets"
    for field, read in spec.tables_read.items():
        if read not in copied:
            yield field, f"it reads {read}, which is not copied"
