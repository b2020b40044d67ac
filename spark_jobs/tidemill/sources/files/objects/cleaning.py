"""Documents of what `fetch.clean` does to the objects of a batch, in its ledger's folder."""

from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document, FrozenModel
from tidemill.sources.files.objects.fetched import FetchedObject


class PutAwayObject(FrozenModel):
    """The plan for one object.

    Attributes:
        url: The URL of `fetch`, below which its key is.
        archive: Where it goes; None for an object that is deleted.
    """

    source: str
    url: str
    archive: str | None
    object: FetchedObject

    @property
    def name(self) -> str:
        return f"{self.url}/{self.object.key}"

    @property
    def place(self) -> tuple[str, str, str | None]:
        """What stores it needs."""
        return self.source, self.url, self.archive


class CleaningObjects(Document):
    """The plan for a batch's objects, written before anything is done.

    Attributes:
        kept: Path of a file that was read -> why no object is put away for it.
    """

    batch: int
    epoch: int
    objects: tuple[PutAwayObject, ...]
    kept: dict[str, str]
    at: datetime


class CleanedObjects(Document):
    """The record that it was done.

    Attributes:
        kept: URL of an object, or path of a file -> why it stays where it is.
    """

    batch: int
    epoch: int
    archived: int
    deleted: int
    kept: dict[str, str]
    at: datetime


def objects_planned(ledger: Path, batch: int) -> Path:
    """Where the plan for a batch's objects is.

    Args:
        ledger: The folder of the generation's ledger.
    """
    return ledger / "cleaned" / "objects" / f"{batch:06d}.json"


def objects_done(ledger: Path, batch: int) -> Path:
    """Where the record is that a batch's objects were put away; likewise."""
    return ledger / "cleaned" / "objects" / f"{batch:06d}.done"
