"""Documents of what was copied from an object store: each object once, never twice."""

from collections.abc import Mapping, Sequence

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.objects.found_object import FoundObject, same_etag
from tidemill.storage import documents


class FetchedObject(FrozenModel):
    """An object as it was copied.

    Attributes:
        key: Its name below the source's URL.
        size: In bytes.
        modified_ms: Its time in the store, in milliseconds since the epoch; the copy has it too.
        etag: What the store calls its content; None where the store does not say.
        version: The object's version, where the store keeps versions.
    """

    key: str
    size: int
    modified_ms: int
    etag: str | None = None
    version: str | None = None

    def is_content_of(self, found: FoundObject) -> bool:
        """Whether an object has the content that was copied."""
        if self.etag is not None and found.etag is not None:
            return same_etag(self.etag, found.etag)
        return (self.size, self.modified_ms) == (found.size, found.modified_ms)


class Fetched(Document):
    """Objects that one run has copied, in the order of their age.

    Attributes:
        epoch: The epoch of the lease under which they were copied.
    """

    epoch: int
    objects: tuple[FetchedObject, ...]


def read_fetched(layout: Layout, source: str) -> Mapping[str, FetchedObject]:
    """Key -> the object as it was copied, of everything that ever was."""
    found: dict[str, FetchedObject] = {}
    for _, path in documents.numbered(layout.fetched(source)):
        document = documents.read(path, Fetched)
        found |= {one.key: one for one in document.objects} if document else {}
    return found


def record_fetched(layout: Layout, source: str, epoch: int, objects: Sequence[FoundObject]) -> None:
    """Write down what was copied; the copies are on the disk.

    Raises:
        AlreadyWritten: another process has copied something meanwhile; transient.
    """
    folder = layout.fetched(source)
    number = (documents.newest(folder) or 0) + 1
    copied = tuple(
        FetchedObject(
            key=one.key,
            size=one.size,
            modified_ms=one.modified_ms,
            etag=one.etag,
            version=one.version,
        )
        for one in objects
    )
    documents.put(folder / f"{number:06d}.json", Fetched(epoch=epoch, objects=copied))
