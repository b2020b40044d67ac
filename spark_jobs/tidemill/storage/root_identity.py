"""The identity of a root, and of the pipelines created in it.

A disk that is not mounted leaves an empty folder that can be written to: all input would be taken
in again, under a new generation. So the root has an identity, `<root>/.tidemill/root.json`, and
something outside of it knows that: the file `.<name of the root>.tidemill.json` beside the root, or
`TIDEMILL_ROOT_ID`. A root in an object store gets its identity from `tidemill init` alone, so that
an empty one is never taken for it. A pipeline that was born is listed in
`<root>/.tidemill/pipelines/`, so that a lost folder is not taken for a new pipeline.
"""

import os
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import AliasChoices, Field

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.document import Document
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.storage import documents
from tidemill.storage.disk_errors import NoHardLinks, NotPermitted
from tidemill.storage.root_bucket import verify_bucket
from tidemill.storage.sync import make_folder, put_whole

ROOT_ID = "TIDEMILL_ROOT_ID"


class RootNotInitialised(Refused):
    """The folder has no identity, and something outside knows one; carries `root` and `known`."""


class RootForeign(Refused):
    """The folder is another root than it was; carries `root`, `known` and `found`."""


class PipelineRenamed(Refused):
    """A pipeline goes on under another name; carries `name` and `renamed_to`."""


class PipelineFolderLost(Refused):
    """A pipeline was born in this root, and nothing of it is there; carries `folder`."""


class RootIdentity(Document):
    """The identity of a root, independent of its mount point."""

    id: str
    created: datetime = Field(validation_alias=AliasChoices("created", "made"))


class Born(Document):
    """The record that a pipeline was created in this root.

    Attributes:
        renamed_to: The name under which it goes on; None where it still has this one.
    """

    pipeline: str
    seen: datetime
    renamed_to: str | None = None


def identity_file(root: Path) -> Path:
    return root / ".tidemill" / "root.json"


def memory_file(root: Path) -> Path:
    """The copy of the root's identity that is readable while its disk is not mounted."""
    return root.parent / f".{root.name}.tidemill.json"


def verify_root(root: Path, environ: Mapping[str, str] = os.environ) -> str | None:
    """Prove that a folder is the root that it was; an unknown one gets an identity.

    Args:
        root: `TIDEMILL_ROOT`, which exists.
        environ: With `TIDEMILL_ROOT_ID`, where it is given.

    Returns:
        A warning where nothing outside the root could be told its identity; else None.

    Raises:
        RootNotInitialised: the folder has no identity, and should have one.
        RootForeign: it has another one.
        NoConditionalPut: it is in an object store that lets a second writer overwrite the first.
        NoStrongListing: it is in an object store that does not list all that it has.
    """
    if isinstance(root, ObjectPath):
        verify_bucket(root)
    found, known = _identity(root), _known(root, environ)
    if found is None and isinstance(root, ObjectPath):
        raise RootNotInitialised(
            f"TIDEMILL_ROOT '{root}' holds no root: it is empty, or is not the place that it was.",
            remedy="Correct TIDEMILL_ROOT, or the endpoint of its connection. If all pipelines are "
            "to start in it: tidemill init",
            root=root,
            known=known,
        )
    if found is None and known is not None:
        raise RootNotInitialised(
            f"TIDEMILL_ROOT '{root}' was root {known} and is an empty folder now, or one that was "
            "never a root: its disk may not be mounted.",
            remedy=f"Mount the disk of {root}. Only if all pipelines are to start over in it: "
            "tidemill init",
            root=root,
            known=known,
        )
    if found is not None and known is not None and found.id != known:
        raise RootForeign(
            f"TIDEMILL_ROOT '{root}' was root {known} and is root {found.id} now: another disk may "
            "be mounted there.",
            remedy=f"Mount the disk that belongs there. If the change is meant: tidemill init (and "
            f"correct {ROOT_ID}, where it is set).",
            root=root,
            known=known,
            found=found.id,
        )
    own = found or documents.put_if_absent(identity_file(root), _new(None))
    return None if known is not None else _remember(root, own)


def initialise(
    root: Path, root_id: str | None = None, environ: Mapping[str, str] = os.environ
) -> RootIdentity:
    """Make a folder a root, or accept the root that it is now.

    Args:
        root: `TIDEMILL_ROOT`; made where it is missing.
        root_id: The identity that it is to have; by default the one that it has, else
            `TIDEMILL_ROOT_ID`, else a new one.
        environ: With `TIDEMILL_ROOT_ID`, where it is given.

    Raises:
        UsageError: `TIDEMILL_ROOT_ID` names another root than this one.
        NoConditionalPut: it is in an object store that lets a second writer overwrite the first.
        NoStrongListing: it is in an object store that does not list all that it has.
    """
    if isinstance(root, ObjectPath):
        verify_bucket(root)
    root.mkdir(parents=True, exist_ok=True)
    found, given = _identity(root), environ.get(ROOT_ID)
    if root_id is not None and found is not None and found.id != root_id:
        identity_file(root).unlink()
    own = documents.put_if_absent(identity_file(root), _new(root_id or given))
    if given and given != own.id:
        raise UsageError(
            f"{ROOT_ID} is '{given}', and '{root}' is root {own.id}.",
            remedy=f"Correct one of them, such as: export {ROOT_ID}={own.id}",
            given=given,
            id=own.id,
        )
    _remember(root, own)
    return own


def verify_pipeline(layout: Layout) -> None:
    """Prove that a pipeline that was born here is still here; list it where it is new.

    Raises:
        PipelineFolderLost: nothing of it is left.
        PipelineRenamed: it goes on under another name.
    """
    refuse_renamed(layout)
    if _has_data(layout):
        register(layout)
    elif is_registered(layout):
        raise PipelineFolderLost(
            f"{layout.home} holds no data any more, and pipeline '{layout.name}' was born in this "
            "root: all its input would be read again.",
            remedy=f"Restore {layout.home} from a backup. Only if it is to start over: "
            f"tidemill drop {layout.name} --table",
            folder=layout.home,
        )


def verify_born_here(layout: Layout, root_id: str | None, note: Path) -> None:
    """Prove that a generation was born in this root, and not copied from another one.

    Args:
        root_id: What the generation's note says; None where it was born before roots had one.

    Raises:
        RootForeign: it was born in another root.
    """
    found = root_id_of(layout.root)
    if root_id is not None and root_id != found:
        raise RootForeign(
            f"{note} was born in root {root_id}, and '{layout.root}' is root {found}: the folder "
            "may come from another root's backup.",
            remedy=f"Restore what belongs here. If all of this root is the restored one: tidemill "
            f"init --id {root_id}",
            root=layout.root,
            known=root_id,
            found=found,
        )


def root_id_of(root: Path) -> str | None:
    """The identity of a root, None where it has none."""
    found = _identity(root)
    return found.id if found else None


def register(layout: Layout, clock: Clock = wall_clock) -> None:
    """List a pipeline as born in its root."""
    if not _register(layout).exists():
        born = Born(pipeline=layout.name, seen=clock())
        documents.put_if_absent(_register(layout), born)


def register_rename(old: Layout, new: Layout, clock: Clock = wall_clock) -> None:
    """List a pipeline under its new name, and keep the old one from starting over."""
    make_folder(_register(new).parent)
    for layout, to in ((new, None), (old, new.name)):
        born = documents.read(_register(layout), Born)
        seen = clock() if born is None else born.seen
        now = Born(pipeline=layout.name, seen=seen, renamed_to=to)
        if now != born:
            put_whole(_register(layout), now.content())


def renamed_to(layout: Layout) -> str | None:
    """The name under which a pipeline goes on; None where it has not been renamed."""
    born = documents.read(_register(layout), Born)
    return None if born is None else born.renamed_to


def refuse_renamed(layout: Layout) -> None:
    """Refuse a name whose pipeline goes on under another one.

    Raises:
        PipelineRenamed: it does.
    """
    name = renamed_to(layout)
    if name is not None:
        raise PipelineRenamed(
            f"Pipeline '{layout.name}' was renamed to '{name}': under the old name all its input "
            "would be read again.",
            remedy=f"Name its spec, transform and suite {name} too, and run it as: "
            f"tidemill run {name}",
            name=layout.name,
            renamed_to=name,
        )


def is_registered(layout: Layout) -> bool:
    """Whether a pipeline is listed as born in its root."""
    return _register(layout).exists()


def unregister(layout: Layout) -> None:
    """Let a pipeline of which nothing is left start over."""
    _register(layout).unlink(missing_ok=True)


def _identity(root: Path) -> RootIdentity | None:
    return documents.read(identity_file(root), RootIdentity)


def _known(root: Path, environ: Mapping[str, str]) -> str | None:
    if isinstance(root, ObjectPath):
        return environ.get(ROOT_ID)
    remembered = documents.read(memory_file(root), RootIdentity)
    return environ.get(ROOT_ID) or (remembered.id if remembered else None)


def _new(root_id: str | None) -> RootIdentity:
    return RootIdentity(id=root_id or uuid.uuid4().hex[:12], created=wall_clock())


def _remember(root: Path, own: RootIdentity) -> str | None:
    """Write the memory beside the root; a warning where that cannot be."""
    if isinstance(root, ObjectPath):
        # What is not mounted looks empty; a bucket is there or is not.
        return None
    try:
        # What it says may change, so it is not a document of the ledger's.
        memory_file(root).unlink(missing_ok=True)
        documents.put_if_absent(memory_file(root), own)
    except (OSError, NotPermitted, NoHardLinks) as error:
        return (
            f"nothing outside of {root} knows its identity ({error}): if its disk is not mounted "
            f"one day, it cannot be told. Set {ROOT_ID}={own.id} for every process."
        )
    return None


def _register(layout: Layout) -> Path:
    return layout.root / ".tidemill" / "pipelines" / f"{layout.name}.json"


def _has_data(layout: Layout) -> bool:
    return any(folder.exists() for folder in (layout.note("x").parent, layout.ledger("x").parent))
