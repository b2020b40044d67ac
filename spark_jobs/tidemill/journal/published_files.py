"""Lists of published files: what readers of plain files see, event by event."""

from datetime import datetime
from typing import Any

from pydantic import AliasChoices, Field

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.layout import Layout
from tidemill.file_formats.written_format import WriteFormat
from tidemill.ledger.run_kinds import EventKind
from tidemill.storage import documents


class PublishedFile(FrozenModel):
    """One file of published rows.

    Attributes:
        path: Relative to the pipeline's folder, as it is on disk.
        partition: Column -> value as it is in the directory's name; the file itself does not hold
            it.
        write_format: Its format, and the options of Spark's writer.
    """

    path: str
    size: int
    rows: int
    batch: int
    partition: dict[str, str | None]
    write_format: WriteFormat = Field(validation_alias=AliasChoices("write_format", "written"))


class PublishedFiles(Document):
    """The files of one event.

    Attributes:
        seq: Its number in the journal.
        kind: How the files stand to earlier ones.
        removes: The paths of earlier lists' files that do not count any more.
        table_schema: The columns with the partitions, as Spark's JSON schema.
        epoch: The epoch of the lease it was written under.
    """

    seq: int
    kind: EventKind = "increment"
    removes: tuple[str, ...] = ()
    increment: int
    generation: str
    first: int
    last: int
    files_hash: str
    rows: int
    table_schema: dict[str, Any]
    files: tuple[PublishedFile, ...]
    epoch: int
    run_id: str
    at: datetime


def published_files(layout: Layout) -> list[PublishedFiles]:
    """All lists of a pipeline, in order."""
    folder = layout.published
    found = (documents.read(path, PublishedFiles) for _, path in documents.numbered(folder))
    return [one for one in found if one is not None]


def files_now(layout: Layout, upto: int | None = None) -> list[PublishedFile]:
    """The files that consumers read, in the order in which they were published.

    Args:
        upto: The last event to look at; None for all.
    """
    found: dict[str, PublishedFile] = {}
    for one in published_files(layout):
        if upto is None or one.seq <= upto:
            for path in one.removes:
                found.pop(path, None)
            found.update((file.path, file) for file in one.files)
    return [*found.values()]
