"""Attempts of the modes `update` and `complete`: a manifest names the valid one of a batch.

In modes `update` and `complete` a batch goes to `batch=<n>/attempt-<epoch>-<uuid>/` of the sink
directory, and `batch=<n>/_manifest.json`, put if absent, says which attempt counts and which files
it has. An attempt that no manifest names is never read, whoever left it.
"""

import uuid
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.errors import Refused
from tidemill.contract.layout import pipeline_holding
from tidemill.spark_logs.offset_log import OffsetEntry
from tidemill.spark_logs.sink_log import SinkFile
from tidemill.storage import documents

MANIFEST = "_manifest.json"
BATCH = "batch="


class ManifestMissing(Refused):
    """A batch before the last written one has no manifest; carries `sink` and `batch`."""


class ManifestForeign(Refused):
    """A batch was written from other input than is planned; carries `batch` and both offsets.

    The checkpoint was lost or set back: it has planned the batch again, and what is written belongs
    to what it had planned before.
    """


class AttemptFile(FrozenModel):
    """A file of an attempt; `path` is relative to the attempt, as it is on disk."""

    path: str
    size: int
    rows: int
    modified_ms: int


class Manifest(Document):
    """The valid attempt at a batch.

    Attributes:
        attempt: The name of its directory.
        offsets: Source -> its offset after the batch, as planned.
        rows_in: Rows read; None where Spark did not count them.
    """

    batch: int
    attempt: str
    epoch: int
    run_id: str
    offsets: dict[str, Any]
    files: tuple[AttemptFile, ...]
    rows_in: int | None
    written: datetime


@dataclass(frozen=True)
class AttemptLog:
    """The manifests of a sink directory, read when they are asked for.

    Args:
        latest: The last batch that has a manifest, None for none.
    """

    sink: Path
    latest: int | None

    def manifest(self, batch: int) -> Manifest:
        """The manifest of a batch up to `latest`.

        Raises:
            ManifestMissing: there is none.
            TornDocument: it cannot be read.
        """
        manifest = read_manifest(self.sink, batch)
        if manifest is None:
            raise _missing(self.sink, batch)
        return manifest

    def files_of(self, batch: int, known: Container[Path] = frozenset()) -> tuple[SinkFile, ...]:
        """The files of a batch's valid attempt."""
        manifest = self.manifest(batch)
        folder = folder_of(self.sink, batch) / manifest.attempt
        return tuple(
            SinkFile(folder / file.path, file.size, file.modified_ms, folder)
            for file in manifest.files
        )

    @property
    def files(self) -> tuple[SinkFile, ...]:
        """The files of all valid attempts."""
        return tuple(file for batch in _batches(self.sink) for file in self.files_of(batch))

    def rows_in(self, batch: int) -> int | None:
        """The rows that a batch read, as its writer counted them."""
        return self.manifest(batch).rows_in

    def verify_planned(self, planned: Mapping[int, OffsetEntry]) -> None:
        """Prove that the last batch was written from what the checkpoint has planned.

        Raises:
            ManifestForeign: it was not.
        """
        if self.latest is not None and self.latest in planned:
            verify_planned(self.manifest(self.latest), planned[self.latest], self.sink)


def read_attempts(sink: Path) -> AttemptLog:
    """Read which batches of a sink directory have a manifest.

    Args:
        sink: The directory; one that is not there holds nothing.

    Raises:
        ManifestMissing: one between the first and the last has none.
        TornDocument: that of the last cannot be read.
    """
    written = _batches(sink)
    # Superseded batches may be cleared away from the front; a hole is something else.
    for before, after in pairwise(written):
        if after != before + 1:
            raise _missing(sink, before + 1)
    log = AttemptLog(sink, written[-1] if written else None)
    if log.latest is not None:
        log.manifest(log.latest)
    return log


def read_manifest(sink: Path, batch: int) -> Manifest | None:
    """The manifest of a batch, or None where no attempt at it is valid yet."""
    return documents.read(folder_of(sink, batch) / MANIFEST, Manifest)


def put_manifest(sink: Path, manifest: Manifest) -> Manifest:
    """Make an attempt the valid one unless another is; the manifest of the valid one."""
    return documents.put_if_absent(folder_of(sink, manifest.batch) / MANIFEST, manifest)


def verify_planned(manifest: Manifest, planned: OffsetEntry, sink: Path) -> None:
    """Prove that a batch was written from what the checkpoint has planned for it.

    Raises:
        ManifestForeign: it was not.
    """
    if manifest.offsets != dict(planned.sources):
        raise ManifestForeign(
            f"{folder_of(sink, manifest.batch) / MANIFEST} was written for other input than the "
            f"checkpoint has planned for batch {manifest.batch}: it was lost or set back since.",
            remedy="Restore the newest backup of the checkpoint. To start over move the "
            f"pipeline's folder away, then: tidemill drop {pipeline_holding(sink)}",
            batch=manifest.batch,
            written=manifest.offsets,
            planned=dict(planned.sources),
        )


def new_attempt(epoch: int) -> str:
    """The name of a directory that no other attempt has."""
    return f"attempt-{epoch:06d}-{uuid.uuid4().hex}"


def folder_of(sink: Path, batch: int) -> Path:
    """The folder of a batch's attempts."""
    return sink / f"{BATCH}{batch}"


def _batches(sink: Path) -> list[int]:
    """The batches that have a manifest, in order."""
    found = sink.glob(f"{BATCH}*/{MANIFEST}")
    return sorted(int(path.parent.name.removeprefix(BATCH)) for path in found)


def _missing(sink: Path, batch: int) -> ManifestMissing:
    return ManifestMissing(
        f"{folder_of(sink, batch) / MANIFEST} is missing, and later batches are written.",
        remedy=f"Restore {sink} from a backup: nothing else says which attempt counts.",
        sink=sink,
        batch=batch,
    )
