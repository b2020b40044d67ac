"""`cleanSource` for pipelines with a gate: input is put away once its rows are published.

Spark would do it at its own commit, before the gate has spoken. Here it is the end of a publish
step: for each batch that consumers see, what is to become of its files is written down first
(`cleaned/<batch>.json` in the ledger's folder), then done, then written down as done, so that any
file is found where it lies, also halfway. Files of batches that were read while the spec did not
ask for it stay where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from spark_jobs.contract.file_source import FileSource
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.contract.spec import Spec
from spark_jobs.ledger import documents
from spark_jobs.ledger.batch import Batch
from spark_jobs.ledger.batches import Ledger
from spark_jobs.ledger.generations import owner
from spark_jobs.ledger.input_file import InputFile
from spark_jobs.ledger.journal import Journal
from spark_jobs.ledger.lease import Lease
from spark_jobs.ledger.put_away import Kept, archive, claim_of, delete

Say = Callable[[str], None]


class PutAway(BaseModel):
    """What is to become of a file.

    Attributes:
        path: Where it lay when it was read.
        to: Where it goes; None for a file that is deleted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    to: str | None


class Cleaning(BaseModel):
    """What is to become of a batch's files, written before anything is done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int
    epoch: int
    files: tuple[PutAway, ...]
    at: datetime


class Cleaned(BaseModel):
    """That it was done.

    Attributes:
        kept: Path -> why it stays where it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int
    epoch: int
    archived: int
    deleted: int
    kept: dict[str, str]
    at: datetime


def cleaned_sources(spec: Spec) -> tuple[str, ...]:
    """The sources whose files are put away once they are published."""
    return tuple(
        name
        for name, source in spec.sources.items()
        if isinstance(source, FileSource) and source.cleanSource != "off"
    )


def clean_sources(pipeline: Pipeline, lease: Lease, say: Say) -> dict[str, int]:
    """Put away the input of every published batch.

    Args:
        pipeline: Whose input it is.
        lease: Held by the caller; read again before each step that cannot be undone.
        say: Gets a line for each file that stays.

    Returns:
        How many files were archived, deleted and kept.

    Raises:
        LeaseLost: a newer epoch took over; it carries on.
    """
    total: Counter[str] = Counter()
    today = set(cleaned_sources(pipeline.spec))
    if not today:
        return {}
    journal = Journal(pipeline.layout.journal)
    published = journal.published()
    for event in journal.events():
        if event.seq in published:
            ledger = Ledger(pipeline.layout, event.generation)
            due = [*_due(ledger, event.first, event.last)]
            asked = {start.epoch: start.cleans for start in ledger.starts()} if due else {}
            for batch in due:
                wanted = today.intersection(asked.get(batch.start, ()))
                files = {file.path: file for file in batch.inputs if file.source in wanted}
                total += _clean(pipeline.spec, ledger, batch.batch, files, lease, say)
    return {what: total[what] for what in ("archived", "deleted", "kept")}


def located(ledger: Ledger, batch: int, file: InputFile) -> Path | None:
    """Where a file that a batch read lies now; None if it is gone or is another.

    Args:
        ledger: Of the batch's generation.
        batch: Its number.
        file: As the ledger has it.
    """
    places = [file.on_disk, claim_of(file.on_disk)]
    there = next((place for place in places if file.is_at(place)), None)
    if there is not None:
        return there
    own = Ledger(ledger.layout, owner(ledger.layout, ledger.generation, batch))
    planned = documents.read(_planned(own, batch), Cleaning)
    files = () if planned is None else planned.files
    places = [Path(one.to) for one in files if one.path == file.path and one.to]
    return next((place for place in places if file.is_at(place)), None)


def _due(ledger: Ledger, first: int, last: int) -> Iterator[Batch]:
    done = {number for number, _ in documents.numbered(ledger.folder / "cleaned", ".done")}
    for number in range(first, last + 1):
        if number not in done:
            yield from ledger.batches(number, number)


def _clean(
    spec: Spec, ledger: Ledger, batch: int, files: dict[str, InputFile], lease: Lease, say: Say
) -> Counter[str]:
    planned = Cleaning(
        batch=batch,
        epoch=lease.epoch,
        files=tuple(_plan(spec, file) for file in files.values()),
        at=datetime.now(UTC),
    )
    lease.check()
    planned = documents.put_if_absent(_planned(ledger, batch), planned)
    done: Counter[str] = Counter()
    kept: dict[str, str] = {}
    refused = False
    for one in planned.files:
        try:
            done[_put_away(spec, files[one.path], one, lease)] += 1
        except Kept as reason:
            kept[one.path] = str(reason)
        except OSError as error:
            refused = True
            kept[one.path] = str(error)
    for path, why in kept.items():
        say(f"warning: {path} is kept: {why}")
    if not refused:
        # What the file system refuses is tried again by the next run.
        cleaned = Cleaned(
            batch=batch,
            epoch=lease.epoch,
            archived=done["archived"],
            deleted=done["deleted"],
            kept=kept,
            at=datetime.now(UTC),
        )
        documents.put_if_absent(_done(ledger, batch), cleaned)
    return done + Counter(kept=len(kept))


def _plan(spec: Spec, file: InputFile) -> PutAway:
    source = spec.sources[file.source]
    to = None
    if isinstance(source, FileSource) and source.sourceArchiveDir is not None:
        # As Spark does: the whole path, below the archive.
        to = str(Path(source.sourceArchiveDir, file.on_disk.relative_to("/")))
    return PutAway(path=file.path, to=to)


def _put_away(
    spec: Spec, file: InputFile, planned: PutAway, lease: Lease
) -> Literal["archived", "deleted"]:
    source = spec.sources[file.source]
    within = source.directory if isinstance(source, FileSource) else file.on_disk.parent
    if planned.to is None:
        delete(file, within, lease.check)
        return "deleted"
    archive(file, within, Path(planned.to), lease.check)
    return "archived"


def _planned(ledger: Ledger, batch: int) -> Path:
    return ledger.folder / "cleaned" / f"{batch:06d}.json"


def _done(ledger: Ledger, batch: int) -> Path:
    return ledger.folder / "cleaned" / f"{batch:06d}.done"
