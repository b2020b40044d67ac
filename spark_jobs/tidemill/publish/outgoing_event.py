"""An event on its way out: its files, audited once for all targets."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tidemill.generations.verify import GenerationUnbound
from tidemill.increments.increments import Increments, Sealed
from tidemill.journal.journal import Event
from tidemill.ledger.generation_note import GenerationNote, read_note
from tidemill.ledger.ledger import Batch, Ledger
from tidemill.publish.append_payload import append_payload
from tidemill.publish.audit import Audited, audit
from tidemill.publish.net_payload import payload_schema
from tidemill.publish.payload import Payload, PayloadFile
from tidemill.publish.rejected.table import RejectedTable
from tidemill.spec.pipeline import Pipeline


class Outgoing:
    """An event of the journal, ready to be applied."""

    def __init__(self, pipeline: Pipeline, event: Event, epoch: int) -> None:
        self.pipeline = pipeline
        self.event = event
        self.epoch = epoch
        self.ledger = Ledger(pipeline.layout, event.stored_in.generation)

    @cached_property
    def batches(self) -> list[Batch]:
        return self.ledger.batches(self.event.stored_in.first, self.event.stored_in.last)

    @property
    def folder(self) -> Path:
        """The increment's folder."""
        return Increments(self.pipeline.layout.increments).folder_of(self.event.increment)

    @cached_property
    def sealed(self) -> Sealed:
        return Increments(self.pipeline.layout.increments).sealed(self.event.increment)

    @cached_property
    def audited(self) -> list[Audited]:
        """All its files.

        Raises:
            BooksDisagree: they are not the judged ones.
        """
        written = self.ledger.written(self.batches)
        net, folder = self.sealed.net, self.folder
        return audit(self.event, self.batches, self.ledger.sink, written, net, folder)

    @cached_property
    def payload(self) -> Payload:
        """Its good rows; of rejected batches only which columns they have.

        Raises:
            BooksDisagree: its files are not the judged ones.
            GenerationUnbound: the note of its generation is gone.
            SchemaChanged: they hold other columns than the ledger says.
        """
        note, keys = self._note, self.pipeline.spec.output.keys
        if self.event.kind == "reject":
            return self._given(note, self.batches[-1:], ())
        # Proved first: a payload of merged rows takes none of the batches' own files.
        audited = self.audited
        if self.sealed.net is None:
            generation = self.event.generation
            return append_payload(
                self.ledger, self.batches, audited, generation=generation, note=note, keys=keys
            )
        return self._given(
            note,
            self.batches,
            tuple(
                PayloadFile(self.folder / file.path, file.rows, self.event.last, {})
                for file in self.sealed.net
            ),
        )

    def keep_rejected(self) -> None:
        """Copy its rejected rows into the rejected table, once.

        They go before the head target: its commit is the point of truth, and a reader of the books
        counts rejected rows up to its batch.
        """
        audited = [] if self.event.kind == "reject" else self.audited
        RejectedTable(self.pipeline.layout, self.epoch).add(self.event, audited)

    def drop_replaced(self) -> None:
        """Take away the rejected rows that it takes the place of, once.

        They go after the head target: a reader of both tables must find a row in one of them.
        """
        RejectedTable(self.pipeline.layout, self.epoch).drop_replaced(self.event)

    @property
    def _note(self) -> GenerationNote:
        layout, generation = self.pipeline.layout, self.event.stored_in.generation
        note = read_note(layout, generation)
        if note is None:
            raise GenerationUnbound(
                f"{layout.note(generation)} is missing, and increments of {generation} are due.",
                remedy="Restore it from a backup; nothing was published.",
                note=layout.note(generation),
            )
        return note

    def _given(
        self, note: GenerationNote, batches: Sequence[Batch], files: tuple[PayloadFile, ...]
    ) -> Payload:
        return Payload(
            generation=self.event.generation,
            schema=payload_schema(self.ledger, batches),
            partition_by=tuple(note.partition_by),
            mode=note.mode,
            keys=note.keys or self.pipeline.spec.output.keys,
            files=files,
            offsets=self.batches[-1].offsets,
            merged=True,
        )
