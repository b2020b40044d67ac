"""`cleanSource` for gated pipelines: input is deleted or archived once its rows are published.

Spark would do it at its own commit, before the gate has spoken. Here it is the end of a publish
step: for each batch that consumers see, what is to become of its files is written down first
(`cleaned/<batch>.json` in the ledger's folder), then done, then written down as done, so that any
file is found where it is, also halfway. Files of batches that were read while the spec did not
ask for it stay where they are.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from tidemill.contract.document import Document, FrozenModel
from tidemill.journal.takeovers import owner
from tidemill.ledger.batch import Batch
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


def cleaned_sources(spec: Spec) -> tuple[str, ...]:
    """The sources whose files are put away once they are published."""
    return tuple(name for name, source in spec.sources.items() if source.cleans)


def cleaned_objects(spec: Spec) -> tuple[str, ...]:
    """The sources whose objects are put away likewise."""
    return tuple(name for name, source in spec.sources.items() if source.cleans_objects)


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
class FileCleaner:
    """Puts away the files that batches read, for one publish step."""

    run: LeasedRun

    def is_done(self, ledger: Ledger, batch: int) -> bool:
        """Whether the files of a batch were put away."""
        return files_done(ledger.folder, batch).exists()

    def clean(self, ledger: Ledger, batch: Batch) -> Counter[str]:
        """Put away the files of a published batch.

        Returns:
            How many were archived, deleted and kept.

        Raises:
            LeaseLost: a newer epoch took over; it carries on.
        """
        today = cleaned_sources(self.run.pipeline.spec)
        cleaned = {*today}.intersection(ledger.cleaned_sources(batch))
        files = {file.path: file for file in batch.inputs if file.source in cleaned}
        return _clean(self.run, ledger, batch.batch, files)


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
        documents.put_if_absent(files_done(ledger.folder, batch), cleaned)
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


def files_done(ledger: Path, batch: int) -> Path:
    """Where the record is that a batch's files were put away.

    Args:
        ledger: The folder of the generation's ledger.
    """
    return ledger / "cleaned" / f"{batch:06d}.done"
