"""Relocations of a pipeline's folder: documents that a step leaves before and after it.

Spark's logs hold absolute paths, so a folder that has come to another path is written in part for
the old place until all of them are rewritten. In between it is neither here nor there, and whoever
writes is refused.
"""

from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath, RecordedPath
from tidemill.storage import documents

# The step that finishes what the others are refused for.
RELOCATE = "relocate"
# The step that removes a pipeline.
DROP = "drop"


class RelocationUnfinished(Refused):
    """A relocation of the pipeline was begun and not finished; carries `relocation`."""


class Relocation(Document):
    """A relocation, written before the first path is.

    Attributes:
        origin: The pipeline's folder for which its paths were written.
        home: The folder that it has come to.
        root: The identity of the root that it has come to; None where that has none.
        copied: Whether it is a copy, whose original stays where it is.
        epoch: The epoch of the lease it was begun under.
    """

    origin: RecordedPath
    home: RecordedPath
    root: str | None
    copied: bool
    run_id: str
    epoch: int
    began: datetime

    @property
    def renames(self) -> bool:
        """Whether the pipeline stays in its root and gets another name."""
        within = self.origin.parent == self.home.parent
        return within and not self.copied and self.origin != self.home

    @property
    def forks(self) -> str | None:
        """The pipeline from which this one is forked; None where it was not begun by a fork."""
        place, of_this = self.origin.parent.parent, Layout(self.home.parent, self.home.name).forks
        return place.name if place.parent == of_this.parent else None


class Relocated(Document):
    """The end of a relocation: the new place is in force.

    Attributes:
        files: How many files the step that ended it has rewritten.
    """

    files: int
    at: datetime


def relocation_file(home: Path, number: int) -> Path:
    return home / "relocations" / f"{number:06d}.json"


def newest_relocation(home: Path) -> int:
    """The number of the newest relocation, 0 where there was none.

    Args:
        home: `Layout.home`.
    """
    return documents.newest(home / "relocations") or 0


def unfinished_relocation(home: Path) -> Relocation | None:
    """The newest relocation, if it was not finished; it takes the place of earlier ones."""
    number = newest_relocation(home)
    if number == 0 or end_file(home, number).exists():
        return None
    return documents.read(relocation_file(home, number), Relocation)


def begin_relocation(home: Path, relocation: Relocation) -> None:
    """Refuse everybody else from here on.

    Raises:
        AlreadyWritten: another process has begun one meanwhile.
    """
    documents.put(relocation_file(home, newest_relocation(home) + 1), relocation)


def end_relocation(home: Path, end: Relocated) -> None:
    """Let everybody go on; the newest relocation is done."""
    documents.put_if_absent(end_file(home, newest_relocation(home)), end)


def end_file(home: Path, number: int) -> Path:
    return home / "relocations" / f"{number:06d}.done"


def refuse_unfinished(home: Path, step: str | None = None) -> None:
    """Refuse a pipeline whose paths are rewritten in part.

    Args:
        step: The step that asks: a fork that is half done may be dropped.

    Raises:
        RelocationUnfinished: they are.
    """
    found = unfinished_relocation(home)
    if found is None or (found.forks and step == DROP):
        return
    names, where = f"{found.origin.name} {found.home.name}", ""
    command = f"rename {names}" if found.renames else f"relocate {home.name}"
    if found.copied and isinstance(home, ObjectPath):
        command = f"relocate {home.name} --copy-to {home.parent}"
        where = f", with TIDEMILL_ROOT set to {found.origin.parent}"
    if found.forks:
        command = f"checkpoint fork {found.forks} --as {home.name} --reason TEXT"
    raise RelocationUnfinished(
        f"A relocation from {found.origin} to {found.home} is half done.",
        remedy=f"Finish it{where}: tidemill {command} --apply",
        relocation=found.model_dump(mode="json"),
    )
