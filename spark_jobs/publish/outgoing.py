"""One event that goes out: its files, audited once for all targets."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.ledger.batches import Batch, Ledger
from spark_jobs.ledger.generation import GenerationUnbound
from spark_jobs.ledger.increments import Increments, Sealed
from spark_jobs.ledger.journal import Event
from spark_jobs.ledger.note import read_note
from spark_jobs.publish import commit
from spark_jobs.publish.append_payload import append_payload
from spark_jobs.publish.books import Audited, audit
from spark_jobs.publish.net_payload import payload_schema
from spark_jobs.publish.payload import Payload, PayloadFile
from spark_jobs.publish.rejected import RejectedTable


class Outgoing:
    """An event of the journal, ready to be applied.

    Args:
        pipeline: Whose event it is.
        event: The event.
        epoch: Of the lease.
    """

    def __init__(self, pipeline: Pipeline, event: Event, epoch: int) -> None:
        self.pipeline = pipeline
        self.event = event
        self.epoch = epoch
        self.ledger = Ledger(pipeline.layout, event.generation)

    @cached_property
    def batches(self) -> list[Batch]:
        return self.ledger.batches(self.event.first, self.event.last)

    @property
    def folder(self) -> Path:
        """Of the increment."""
        return Increments(self.pipeline.layout.increments).folder_of(self.event.increment)

    @cached_property
    def sealed(self) -> Sealed:
        return Increments(self.pipeline.layout.increments).get(self.event.increment).sealed

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
        """Its good rows.

        Raises:
            BooksDisagree: its files are not the judged ones.
            GenerationUnbound: the note of its generation is gone.
            SchemaChanged: they hold other columns than the ledger says.
        """
        layout, output = self.pipeline.layout, self.pipeline.spec.output
        place = layout.note(self.event.generation)
        note = read_note(layout, self.event.generation)
        if note is None:
            raise GenerationUnbound(
                f"{place} is missing, and increments of {self.event.generation} are due.",
                remedy="Restore it from a backup; nothing was published.",
                note=place,
            )
        # Proved first: a payload of merged rows takes none of the batches' own files.
        audited = self.audited
        if self.sealed.net is None:
            return append_payload(
                self.ledger,
                self.batches,
                audited,
                partition_by=tuple(note.partition_by),
                keys=output.keys,
            )
        return Payload(
            generation=self.event.generation,
            schema=payload_schema(self.ledger, self.batches),
            partition_by=tuple(note.partition_by),
            mode=note.mode,
            keys=note.keys or output.keys,
            files=tuple(
                PayloadFile(self.folder / file.path, file.rows, self.event.last, {})
                for file in self.sealed.net
            ),
            offsets=self.batches[-1].offsets,
        )

    def keep_rejected(self) -> None:
        """Copy its rejected rows into the rejected table, once.

        They go before the head target: its commit is the point of truth, and a reader of the books
        counts rejected rows up to its batch.
        """
        app = commit.application(self.pipeline.name, self.event.generation)
        RejectedTable(self.pipeline.layout, app, self.epoch).apply(self.event, self.audited)
