"""A list of the files that passed: for formats that no table can name, and readers of plain files.

`files/000007.json` names the files of journal event 7; all of these together are what consumers
read. Files beside them in the sink may be held, rejected or left by a driver that died.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from spark_jobs.contract.errors import LeaseLost
from spark_jobs.contract.layout import Layout
from spark_jobs.ledger import documents
from spark_jobs.ledger.journal import Event
from spark_jobs.ledger.lease import newest_epoch
from spark_jobs.ledger.written import Written
from spark_jobs.publish.payload import Payload
from spark_jobs.publish.target import NotOurTurn


class PublishedFile(BaseModel):
    """One file of published rows.

    Attributes:
        path: On disk.
        rows: In it.
        partition: Column -> value; the file itself does not hold it.
        written: Its format, and the options of Spark's writer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    rows: int
    partition: dict[str, str | None]
    written: Written


class PublishedFiles(BaseModel):
    """The files of one event.

    Attributes:
        columns: Of the rows, with the partitions, as Arrow names their types.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    increment: int
    generation: str
    first: int
    last: int
    rows: int
    columns: dict[str, str]
    files: tuple[PublishedFile, ...]
    at: datetime


@dataclass(frozen=True)
class FilesTarget:
    """The lists of one pipeline.

    Args:
        layout: Of the pipeline.
        epoch: Of the lease.
    """

    layout: Layout
    epoch: int

    @property
    def name(self) -> str:
        return "files"

    def find(self, event: Event) -> int | None:
        return event.seq if self._place(event.seq).exists() else None

    def apply(self, event: Event, payload: Payload) -> int:
        """Write an event's list; its number is the version.

        Raises:
            NotOurTurn: the list of the event before is missing.
            LeaseLost: a newer epoch took over.
        """
        head = max((number for number, _ in documents.numbered(self.layout.files)), default=0)
        if event.seq != head + 1 and head:
            raise NotOurTurn(
                f"Event {event.seq} was offered to {self.layout.files}, whose head is {head}.",
                remedy="Restore the missing list from a backup.",
                head=head,
                first=event.first,
            )
        self._fence()
        published = PublishedFiles(
            seq=event.seq,
            increment=event.increment,
            generation=event.generation,
            first=event.first,
            last=event.last,
            rows=payload.rows,
            columns={field.name: str(field.type) for field in payload.schema},
            files=tuple(
                PublishedFile(
                    path=file.path,
                    rows=file.rows,
                    partition=dict(file.partition),
                    written=file.written,
                )
                for file in payload.files
            ),
            at=datetime.now(UTC),
        )
        documents.put_if_absent(self._place(event.seq), published)
        return event.seq

    def _fence(self) -> None:
        newest = newest_epoch(self.layout.lease)
        if newest > self.epoch:
            raise LeaseLost(
                f"Epoch {self.epoch} of the lease was taken over by epoch {newest}.",
                remedy="Nothing to do: the newer run carries on.",
                epoch=self.epoch,
                newer=newest,
            )

    def _place(self, seq: int) -> Path:
        return self.layout.files / f"{seq:06d}.json"


def published_files(layout: Layout) -> list[PublishedFiles]:
    """All lists of a pipeline, in order."""
    found = (documents.read(path, PublishedFiles) for _, path in documents.numbered(layout.files))
    return [one for one in found if one is not None]
