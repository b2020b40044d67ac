"""`cleanSource` for gated pipelines: input is deleted or archived once its rows are published.

Spark would do it at its own commit, before the gate has spoken. Here it is the end of a publish
step: for each batch that consumers see, what is to become of its files is written down first
(`cleaned/<batch>.json` in the ledger's folder), then done, then written down as done, so that any
file is found where it is, also halfway. Files of batches that were read while the spec did not
ask for it stay where they are.

`journal/000007.cleaned` says that all of this was done up to event 7, so that a publish looks only
at the events after it. It only informs: without it all events are looked at, with the same result.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.layout import Layout
from tidemill.journal.journal import Event, Journal, event_file
from tidemill.journal.takeovers import owner
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.archive import Kept, archive, claim_of, delete
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec
from tidemill.storage import documents
from tidemill.storage.lease import Lease
from tidemill.storage.run_context import LeasedRun


class PutAway(FrozenModel):
    """The plan for one file.

    Attributes:
        to: Where it goes; None for a file that is deleted.
    """

    path: str
    to: str | None


class Cleaning(Document):
    """The plan for a batch's files, written before anything is done."""

    batch: int
    epoch: int
    files: tuple[PutAway, ...]
    at: datetime


class Cleaned(Document):
    """The record that it was done.

    Attributes:
        kept: Path -> why it stays where it is.
    """

    batch: int
    epoch: int
    archived: int
    deleted: int
    kept: dict[str, str]
    at: datetime


class CleanedUpTo(Document):
    """The record that the input of an event and all before it was cleaned."""

    at: datetime


def cleaned_sources(spec: Spec) -> tuple[str, ...]:
    """The sources whose files are put away once they are published."""
    return tuple(name for name, source in spec.sources.items() if source.cleans)


def clean_sources(run: LeasedRun, journal: Journal) -> dict[str, int]:
    """Put away the input of every published batch.

    Args:
        run: The run; its lease is checked before each step that cannot be undone.
        journal: The pipeline's, or the part of it after settled history: where no mark is in that
            part, the whole journal is read.

    Returns:
        How many files were archived, deleted and kept.

    Raises:
        LeaseLost: a newer epoch took over; it carries on.
    """
    pipeline, total = run.pipeline, Counter[str]()
    today = set(cleaned_sources(pipeline.spec))
    if not today:
        return {}
    cleaner = _Cleaner(run, today)
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


def located(ledger: Ledger, batch: int, file: InputFile) -> Path | None:
    """The present path of a file that a batch read; None if it is gone or replaced."""
    places = [file.on_disk, claim_of(file.on_disk)]
    there = next((place for place in places if file.is_at(place)), None)
    if there is not None:
        return there
    own = Ledger(ledger.layout, owner(ledger.layout, ledger.generation, batch))
    planned = documents.read(_planned(own, batch), Cleaning)
    files = () if planned is None else planned.files
    places = [Path(one.to) for one in files if one.path == file.path and one.to]
    return next((place for place in places if file.is_at(place)), None)


@dataclass
class _Cleaner:
    """Puts away the input of events, for one publish step.

    Args:
        today: The sources that the spec asks to clean.
    """

    run: LeasedRun
    today: set[str]

    def __post_init__(self) -> None:
        self.ledgers: dict[str, Ledger] = {}

    def clean(self, event: Event) -> tuple[Counter[str], bool]:
        """The cleaned files of an event, and whether any is left."""
        name = event.generation
        ledger = self.ledgers.setdefault(name, Ledger(self.run.layout, name))
        total: Counter[str] = Counter()
        all_done = True
        for number in range(event.first, event.last + 1):
            if not _done(ledger, number).exists():
                (batch,) = ledger.batches(number, number)
                cleaned = self.today.intersection(ledger.cleaned_sources(batch))
                files = {file.path: file for file in batch.inputs if file.source in cleaned}
                total += _clean(self.run, ledger, number, files)
                all_done = all_done and _done(ledger, number).exists()
        return total, all_done


def _newest_mark(layout: Layout, journal: Journal) -> int:
    """The event up to which all was done, 0 if the journal does not say it.

    A ledger that was restored from before it is not believed to be done.
    """
    for number, _ in reversed(journal.numbered(".cleaned")):
        event = documents.read(event_file(layout.journal, number), Event)
        if event and _done(Ledger(layout, event.generation), event.last).exists():
            return number
    return 0


def _mark(journal: Path, seq: int) -> Path:
    return journal / f"{seq:06d}.cleaned"


def _clean(run: LeasedRun, ledger: Ledger, batch: int, files: dict[str, InputFile]) -> Counter[str]:
    spec = run.pipeline.spec
    planned = Cleaning(
        batch=batch,
        epoch=run.epoch,
        files=tuple(_plan(spec, file) for file in files.values()),
        at=run.clock(),
    )
    run.lease.check()
    planned = documents.put_if_absent(_planned(ledger, batch), planned)
    done: Counter[str] = Counter()
    kept: dict[str, str] = {}
    refused = False
    for one in planned.files:
        try:
            done[_put_away(spec, files[one.path], one, run.lease)] += 1
        except Kept as reason:
            kept[one.path] = str(reason)
        except OSError as error:
            refused = True
            kept[one.path] = str(error)
    for path, why in kept.items():
        run.log(f"warning: {path} is kept: {why}")
    if not refused:
        # What the file system refuses is tried again by the next run.
        cleaned = Cleaned(
            batch=batch,
            epoch=run.epoch,
            archived=done["archived"],
            deleted=done["deleted"],
            kept=kept,
            at=run.clock(),
        )
        documents.put_if_absent(_done(ledger, batch), cleaned)
    return done + Counter(kept=len(kept))


def _plan(spec: Spec, file: InputFile) -> PutAway:
    archive_dir = spec.sources_of(FileSource)[file.source].sourceArchiveDir
    # As Spark does: the whole path, below the archive.
    to = Path(archive_dir, file.on_disk.relative_to("/")) if archive_dir is not None else None
    return PutAway(path=file.path, to=None if to is None else str(to))


def _put_away(
    spec: Spec, file: InputFile, planned: PutAway, lease: Lease
) -> Literal["archived", "deleted"]:
    within = spec.sources_of(FileSource)[file.source].directory
    if planned.to is None:
        delete(file, within, lease.check)
        return "deleted"
    archive(file, within, Path(planned.to), lease.check)
    return "archived"


def _planned(ledger: Ledger, batch: int) -> Path:
    return ledger.folder / "cleaned" / f"{batch:06d}.json"


def _done(ledger: Ledger, batch: int) -> Path:
    return ledger.folder / "cleaned" / f"{batch:06d}.done"
