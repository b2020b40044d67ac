"""The place of a fork under another name: it is built beside it, and comes there when it is whole.

On a disk that is one rename. In an object store the files are copied one after the other, under the
lease of the new pipeline and a relocation that refuses its runs until all are there. Each try has a
draft of its own, so that a write which a killed process left under way meets none of a later one.
"""

import uuid

from tidemill.contract.clock import wall_clock
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.steps.decisions.relocate import PATIENCE_SECONDS
from tidemill.steps.decisions.rename import NameTaken
from tidemill.storage.folders import copy_folder, names_in, remove_folder
from tidemill.storage.lease import hold
from tidemill.storage.relocations import (
    RELOCATE,
    Relocated,
    Relocation,
    begin_relocation,
    end_relocation,
    newest_relocation,
    unfinished_relocation,
)
from tidemill.storage.root_identity import root_id_of
from tidemill.storage.sync import sync_folder


def empty_draft(layout: Layout, new: Layout) -> Layout:
    """The folders to build a fork in; what earlier tries left there is removed.

    Args:
        layout: The original.
        new: The fork, as it will be.
    """
    for draft in _drafts(layout, new):
        remove_folder(draft.home, missing_ok=True)
    if isinstance(layout.root, ObjectPath):
        return Layout(layout.forks / uuid.uuid4().hex, new.name)
    return Layout(layout.forks, new.name)


def draft_on_its_way(layout: Layout, new: Layout) -> Layout | None:
    """The whole draft that an interrupted fork was copying to its place; None where there is none.

    Args:
        layout: The original.
        new: The fork, as it will be.
    """
    begun = unfinished_relocation(new.home)
    if begun is None or begun.forks != layout.name:
        return None
    return Layout(begun.origin.parent, new.name)


def is_free(new: Layout) -> bool:
    """Whether a fork may have a place: a run would have left more there than a lease."""
    if isinstance(new.home, ObjectPath) and new.home.is_dir():
        return names_in(new.home) == [new.lease.name]
    return not new.home.exists()


def move_in(draft: Layout, new: Layout, run_id: str) -> None:
    """Let a whole draft be the fork; one that was interrupted is finished by the next.

    Raises:
        NameTaken: a pipeline of this name has begun meanwhile.
    """
    if not isinstance(new.home, ObjectPath):
        draft.home.rename(new.home)
        sync_folder(new.root)
        return
    if newest_relocation(new.home) == 0:
        _refuse_begun(new)
        # A start in the ledger is named by its epoch, so that those of others come after these.
        copy_folder(draft.lease, new.lease)
    with hold(new.lease, step=RELOCATE, run_id=run_id, patience=PATIENCE_SECONDS) as lease:
        if newest_relocation(new.home) == 0:
            _refuse_begun(new)
            begun = Relocation(
                origin=draft.home,
                home=new.home,
                root=root_id_of(new.root),
                copied=False,
                run_id=run_id,
                epoch=lease.epoch,
                began=wall_clock(),
            )
            begin_relocation(new.home, begun)
        copies = 0
        for name in names_in(draft.home):
            if draft.home / name != draft.lease:
                copies += len(copy_folder(draft.home / name, new.home / name))
        lease.check()
        end_relocation(new.home, Relocated(files=copies, at=wall_clock()))
    remove_folder(draft.home, missing_ok=True)


def name_taken(name: str, new: Layout) -> NameTaken:
    """The error of a name that is another pipeline's.

    Args:
        name: The pipeline that was to be forked.
    """
    return NameTaken(
        f"{name} cannot be forked: '{new.name}' is, or was, a pipeline of this root.",
        remedy="Choose another name.",
        name=new.name,
    )


def _drafts(layout: Layout, new: Layout) -> list[Layout]:
    if not isinstance(layout.root, ObjectPath):
        return [Layout(layout.forks, new.name)]
    return [Layout(home.parent, new.name) for home in layout.forks.glob(f"*/{new.name}")]


def _refuse_begun(new: Layout) -> None:
    if not is_free(new):
        raise name_taken(new.name, new)
