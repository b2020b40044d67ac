"""Every kind of document that a pipeline keeps for ever, and where it is.

Documents that a later try replaces or takes away are not among them: reports, approvals, notices,
the state of running queries, the root's identity.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemill.compatibility.compare import Passed
from tidemill.compatibility.creation_snapshot import CreationSnapshot
from tidemill.contract.document import Document
from tidemill.generations.build import GenerationBuild
from tidemill.generations.checkpoint_snapshot import CheckpointSnapshot
from tidemill.increments.records import Rejection, Release, Sealed, Verdict
from tidemill.journal.event import Announced, Applied, Event, Withdrawal
from tidemill.journal.published_files import PublishedFiles
from tidemill.journal.takeovers import Takeover
from tidemill.ledger.batch import Batch, Start
from tidemill.ledger.flushes import Flush
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.late_rows import LateRows
from tidemill.ledger.losses import AcceptedLoss, PassedLoss
from tidemill.ledger.manifests import Manifest
from tidemill.ledger.reprocessed_run import ReprocessedRun
from tidemill.ledger.run_increment import RunIncrement
from tidemill.ledger.run_request import RunRequest
from tidemill.ledger.source_record import BoundSource
from tidemill.sources.files.clean_published import CleanedUpTo
from tidemill.sources.files.clean_source import Cleaned, Cleaning
from tidemill.sources.files.objects.cleaning import CleanedObjects, CleaningObjects
from tidemill.sources.files.objects.fetched import Fetched
from tidemill.sources.kafka.lag import Arrivals
from tidemill.sources.kafka.topics import TopicRecord
from tidemill.sources.kafka.writer_schemas import WriterSchema
from tidemill.storage.erasures import Erased, Erasure
from tidemill.storage.lease import Holder, Released
from tidemill.storage.relocations import Relocated, Relocation


@dataclass(frozen=True)
class DocumentKind:
    """A kind of document.

    Args:
        model: The class that reads it.
        folder: A glob of the folders that hold it, relative to `Layout.home`.
        name: A regular expression of its file name.
    """

    model: type[Document]
    folder: str
    name: str = r"\d+\.json"

    def paths(self, home: Path) -> Iterator[Path]:
        """The documents of this kind, in the order of their paths.

        Args:
            home: `Layout.home`.
        """
        for folder in sorted(home.glob(self.folder)):
            files = folder.iterdir() if folder.is_dir() else ()
            yield from sorted(path for path in files if re.fullmatch(self.name, path.name))


DOCUMENT_KINDS = (
    DocumentKind(GenerationNote, "checkpoints", r"[^.]+\.json"),
    DocumentKind(CreationSnapshot, "checkpoints", r"[^.]+\.plan\.json"),
    DocumentKind(Passed, "checkpoints/*.plans", r"[^.]+\.json"),
    DocumentKind(GenerationBuild, "generations", r"live-\d+\.json"),
    DocumentKind(Takeover, "generations"),
    DocumentKind(BoundSource, "ledger/*/sources", r"[^.]+\.json"),
    DocumentKind(TopicRecord, "ledger/*/topics", r"[^.].*\.json"),
    DocumentKind(WriterSchema, "schemas/*"),
    DocumentKind(Start, "ledger/*/starts"),
    DocumentKind(Batch, "ledger/*"),
    DocumentKind(Manifest, "table/_*/batch=*", r"_manifest\.json"),
    DocumentKind(LateRows, "ledger/*/late"),
    DocumentKind(Flush, "ledger/*/flushes"),
    DocumentKind(Arrivals, "ledger/*/arrivals/*"),
    DocumentKind(Fetched, "fetched/*"),
    DocumentKind(AcceptedLoss, "ledger/*/losses/*"),
    DocumentKind(PassedLoss, "ledger/*/losses/*/passed"),
    DocumentKind(Sealed, "increments/*", r"sealed\.json"),
    DocumentKind(Verdict, "increments/*"),
    DocumentKind(Release, "increments/*", r"release\.json"),
    DocumentKind(Rejection, "increments/*", r"rejection\.json"),
    DocumentKind(Event, "journal"),
    DocumentKind(Applied, "journal", r"\d+\..+\.json"),
    DocumentKind(Withdrawal, "journal", r"\d+\.withdrawn"),
    DocumentKind(Announced, "journal", r"\d+\.announced"),
    DocumentKind(PublishedFiles, "published"),
    DocumentKind(Cleaning, "ledger/*/cleaned"),
    DocumentKind(Cleaned, "ledger/*/cleaned", r"\d+\.done"),
    DocumentKind(CleaningObjects, "ledger/*/cleaned/objects"),
    DocumentKind(CleanedObjects, "ledger/*/cleaned/objects", r"\d+\.done"),
    DocumentKind(CleanedUpTo, "journal", r"\d+\.cleaned"),
    DocumentKind(RunRequest, "runs/*/requests"),
    DocumentKind(RunIncrement, "runs/*", r"increment\.json"),
    DocumentKind(RunIncrement, "runs/*/increments"),
    DocumentKind(ReprocessedRun, "runs/*/reprocessed"),
    DocumentKind(Relocation, "relocations"),
    DocumentKind(CheckpointSnapshot, "snapshots", r"\d+\.json"),
    DocumentKind(Relocated, "relocations", r"\d+\.done"),
    DocumentKind(Erasure, "erasures"),
    DocumentKind(Erased, "erasures", r"\d+\.done"),
    DocumentKind(Holder, "lease"),
    DocumentKind(Released, "lease", r"\d+\.released"),
    DocumentKind(Holder, "generations/*.lease"),
    DocumentKind(Released, "generations/*.lease", r"\d+\.released"),
)
