"""Puts away the input of every published batch: its files, and the objects they were copied from.

`journal/000007.cleaned` says that all of this was done up to event 7, so that a publish looks only
at the events after it. It only informs: without it all events are looked at, with the same result.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event, Journal, event_file
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.clean_source import (
    FileCleaner,
    cleaned_objects,
    cleaned_sources,
    files_done,
)
from tidemill.sources.files.objects.cleaning import objects_done
from tidemill.storage import documents
from tidemill.storage.run_context import LeasedRun


class CleanedUpTo(Document):
    """The record that the input of an event and all before it was cleaned."""

    at: datetime


class BatchCleaner(Protocol):
    """Puts away the input of batches, for one publish step."""

    def is_done(self, ledger: Ledger, batch: int) -> bool:
        """Whether a batch's input was put away."""
        ...

    def clean(self, ledger: Ledger, batch: Batch) -> Counter[str]:
        """Put away the input of a published batch.

        Returns:
            How many were archived, deleted and kept.
        """
        ...


def clean_sources(
    run: LeasedRun, journal: Journal, environ: Mapping[str, str] = os.environ
) -> dict[str, int]:
    """Put away the input of every published batch.

    Args:
        run: The run; its lease is checked before each step that cannot be undone.
        journal: The pipeline's, or the part of it after settled history: where no mark is in that
            part, the whole journal is read.
        environ: Has the connections to object stores.

    Returns:
        How many files were archived, deleted and kept.

    Raises:
        LeaseLost: a newer epoch took over; it carries on.
    """
    pipeline, total = run.pipeline, Counter[str]()
    cleaners = _cleaners(run, environ)
    if not cleaners:
        return {}
    cleaner = _EventCleaner(run, cleaners)
    before = _newest_mark(pipeline.layout, journal)
    if not before:
        journal = Journal(pipeline.layout.journal)
        before = _newest_mark(pipeline.layout, journal)
    upto = before
    published = journal.published(after=before)
    unbroken = True
    for event in journal.events(after=before):
        if event.seq in published:
            counts, all_done = cleaner.clean(event)
            total += counts
            unbroken = unbroken and all_done
        else:
            unbroken = False
        if unbroken:
            upto = event.seq
    if upto > before:
        documents.put_if_absent(_mark(journal.folder, upto), CleanedUpTo(at=run.clock()))
    return {what: total[what] for what in ("archived", "deleted", "kept")}


@dataclass
class _EventCleaner:
    """Puts away the input of events, for one publish step."""

    run: LeasedRun
    cleaners: Sequence[BatchCleaner]

    def __post_init__(self) -> None:
        self.ledgers: dict[str, Ledger] = {}

    def clean(self, event: Event) -> tuple[Counter[str], bool]:
        """The cleaned input of an event, and whether any is left."""
        name = event.generation
        ledger = self.ledgers.setdefault(name, Ledger(self.run.layout, name))
        total: Counter[str] = Counter()
        all_done = True
        for number in range(event.first, event.last + 1):
            left = [one for one in self.cleaners if not one.is_done(ledger, number)]
            for batch in ledger.batches(number, number) if left else ():
                for one in left:
                    total += one.clean(ledger, batch)
                    all_done = all_done and one.is_done(ledger, number)
        return total, all_done


def _cleaners(run: LeasedRun, environ: Mapping[str, str]) -> list[BatchCleaner]:
    """Those that the spec asks for; objects first, which may need room where the copies are."""
    spec, found = run.pipeline.spec, list[BatchCleaner]()
    if cleaned_objects(spec):
        # A pipeline of local files needs no client of object stores.
        from tidemill.sources.files.objects.clean_objects import ObjectCleaner

        found.append(ObjectCleaner(run, environ))
    if cleaned_sources(spec):
        found.append(FileCleaner(run))
    return found


def _newest_mark(layout: Layout, journal: Journal) -> int:
    """The event up to which all was done, 0 if the journal does not say it.

    A ledger that was restored from before it is not believed to be done.
    """
    for number, _ in reversed(journal.numbered(".cleaned")):
        event = documents.read(event_file(layout.journal, number), Event)
        if event and _any_done(Ledger(layout, event.generation), event.last):
            return number
    return 0


def _any_done(ledger: Ledger, batch: int) -> bool:
    return files_done(ledger.folder, batch).exists() or objects_done(ledger.folder, batch).exists()


def _mark(journal: Path, seq: int) -> Path:
    return journal / f"{seq:06d}.cleaned"
