"""Lists of published files, for readers of plain files and for other formats than Parquet.

`published/000007.json` names the files of journal event 7, and those of earlier events that it
takes the place of; the files of all lists without those are what consumers read (`files_now`).
Files beside them in the sink may be held, rejected or left by a driver that died.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deltalake import Schema

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event, Journal
from tidemill.journal.published_files import PublishedFile, PublishedFiles, files_now
from tidemill.publish.fence import fenced_out
from tidemill.publish.payload import Payload, PayloadFile
from tidemill.publish.target import HeadUnexplained, NotOurTurn, SwapUnfit
from tidemill.storage import documents
from tidemill.storage.lease import Lease


@dataclass(frozen=True)
class FilesTarget:
    """The lists of one pipeline."""

    layout: Layout
    epoch: int
    name: str = "files"
    clock: Clock = wall_clock

    def find(self, event: Event) -> int | None:
        there = self._read(event.seq)
        return event.seq if there is not None and _is_of(there, event) else None

    def apply(self, event: Event, payload: Payload) -> int:
        """Write an event's list, unless it is there; its number is the version.

        Raises:
            NotOurTurn: the list of the event before is missing.
            HeadUnexplained: its place is taken by a list of other files.
            LeaseLost: a newer epoch took over.
            SwapUnfit: files hold rows of several partitions, and those of one are to go.
        """
        head = max((number for number, _ in documents.numbered(self.layout.published)), default=0)
        # Numbers between are those of events that were withdrawn.
        last = Journal(self.layout.journal).before(event.seq)
        before = self._read(last)
        if last and before is None and event.kind != "replace":
            raise NotOurTurn(
                f"Event {event.seq} was offered to {self.layout.published}, whose head is {head}.",
                remedy="Restore the missing list from a backup; or remove the folder, and the "
                "files *.files.json in journal/, and the next run fills it again.",
                head=head,
                first=event.first,
            )
        self._fence(before)
        there = documents.put_if_absent(self._place(event.seq), self._list(event, payload))
        if not _is_of(there, event):
            raise HeadUnexplained(
                f"{self._place(event.seq)} lists other files than increment "
                f"{event.increment:06d} has.",
                remedy="Restore journal/ and published/ from one backup.",
                path=self._place(event.seq),
                increment=event.increment,
                head=head,
            )
        return event.seq

    def _list(self, event: Event, payload: Payload) -> PublishedFiles:
        return PublishedFiles(
            seq=event.seq,
            kind=event.kind,
            removes=tuple(self._removes(event)),
            increment=event.increment,
            generation=event.generation,
            first=event.first,
            last=event.last,
            files_hash=event.files_hash,
            rows=payload.rows,
            table_schema=json.loads(Schema.from_arrow(payload.schema).to_json()),
            files=tuple(self._file(file) for file in payload.files),
            epoch=self.epoch,
            run_id=event.run_id,
            at=self.clock(),
        )

    def _removes(self, event: Event) -> Iterator[str]:
        if event.in_order:
            return
        partitions = event.recomputation.partitions if event.recomputation else None
        for file in files_now(self.layout, upto=event.seq - 1):
            if event.kind == "replace":
                yield file.path
            elif partitions is not None and partitions.hold(file.partition):
                if any(column not in file.partition for column in partitions.columns):
                    raise SwapUnfit(
                        f"{file.path} holds rows of several partitions, so none of them can be "
                        "taken away.",
                        remedy="Take the target `files` out of `publish`.",
                        targets=(self.name,),
                        path=file.path,
                    )
                yield file.path

    def _file(self, file: PayloadFile) -> PublishedFile:
        return PublishedFile(
            path=str(file.path.relative_to(self.layout.home)),
            size=file.path.stat().st_size,
            rows=file.rows,
            batch=file.batch,
            partition=dict(file.partition),
            write_format=file.written,
        )

    def _fence(self, before: PublishedFiles | None) -> None:
        Lease(self.layout.lease, self.epoch).check()
        if before is not None and before.epoch > self.epoch:
            where = str(self.layout.published)
            raise fenced_out(self.layout, where, self.epoch, before.epoch)

    def _read(self, seq: int) -> PublishedFiles | None:
        return documents.read(self._place(seq), PublishedFiles)

    def _place(self, seq: int) -> Path:
        return self.layout.published / f"{seq:06d}.json"


def _is_of(there: PublishedFiles, event: Event) -> bool:
    return (there.kind, there.generation, there.first, there.last, there.files_hash) == (
        event.kind,
        event.generation,
        event.first,
        event.last,
        event.files_hash,
    )
