"""Finds the batch that read or wrote a file, and the state of that batch's increment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import PIPELINE_NAME, Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.file_formats.delta import data_files
from tidemill.increments.snapshot import Snapshot
from tidemill.increments.status import IncrementStatus, read_increments
from tidemill.ledger.ledger import Batch, InputFile, Ledger, OutputFile
from tidemill.ledger.manifests import read_attempts
from tidemill.sources.files.clean_source import located
from tidemill.spark_logs.partition_paths import disk_path
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY, SinkFile, read_sink_log
from tidemill.storage import documents


class UnknownFile(UsageError):
    """No committed batch of any pipeline names a file; carries `file` and `uncommitted`.

    `uncommitted` is true for a file in a sink directory that Spark's log does not name.
    """


class Origin(FrozenModel):
    """A file and the batch that it came into or out of.

    Attributes:
        rows: That a written file holds; None for one that was read.
        rejected: Whether a written file holds rejected rows.
        increment: That holds the batch; None until it is sealed.
        in_table: Whether readers of the published table, or of the table of rejected rows, see a
            written file; None for one that was read.
        now: Where an input file is now, as it may have been archived; None where it is gone or
            is another, and for one that was written.
    """

    file: Path
    role: Literal["input", "output"]
    rows: int | None
    rejected: bool
    pipeline: str
    generation: str
    batch: int
    run_id: str
    committed: datetime
    increment: IncrementStatus | None
    in_table: bool | None = None
    now: Path | None = None


def origins(root: Path, given: str) -> list[Origin]:
    """What the pipelines under a root know about a file.

    Args:
        given: An absolute path, one relative to the working directory, the end of a path, or a URI
            as it stands in the rejected rows' `file`.

    Raises:
        UnknownFile: no batch read or wrote it.
    """
    named = _NamedFile(path_of(disk_path(given) if given.startswith("file:") else given))
    layouts = [Layout(root, name) for name in _pipelines(root)]
    found = [origin for layout in layouts for origin in _of_pipeline(layout, named)]
    if not found:
        raise _unknown(named, layouts)
    return found


def _of_pipeline(layout: Layout, named: _NamedFile) -> Iterator[Origin]:
    increments = read_increments(Snapshot(layout))
    for folder in sorted((layout.home / "ledger").iterdir()):
        ledger = Ledger(layout, folder.name)
        for batch in _own(ledger):
            for read in batch.inputs:
                now = located(ledger, batch.batch, read) if _may_be(named, read) else None
                if named.is_at(read.on_disk) or (now is not None and named.is_at(now)):
                    origin = _origin(layout, batch, increments, read.on_disk)
                    yield origin.model_copy(update={"now": now})
            for written in batch.outputs:
                if named.is_at(path := ledger.sink / written.path):
                    origin = _origin(layout, batch, increments, path, written)
                    table = layout.rejected if written.rejected else layout.table
                    yield origin.model_copy(update={"in_table": path in data_files(table)})


def _own(ledger: Ledger) -> Iterator[Batch]:
    """The batches of a generation, without those that a fork has of another.

    What was computed again is one batch only, of any number.
    """
    for number, _ in documents.numbered(ledger.folder):
        yield from (b for b in ledger.batches(number, number) if b.generation == ledger.generation)


def _origin(
    layout: Layout,
    batch: Batch,
    increments: tuple[IncrementStatus, ...],
    path: Path,
    written: OutputFile | None = None,
) -> Origin:
    own = (i for i in increments if i.place.generation == batch.generation)
    return Origin(
        file=path,
        role="input" if written is None else "output",
        rows=None if written is None else written.rows,
        rejected=written is not None and written.rejected,
        pipeline=layout.name,
        generation=batch.generation,
        batch=batch.batch,
        run_id=batch.run_id,
        committed=batch.committed,
        increment=next((i for i in own if i.place.first <= batch.batch <= i.place.last), None),
    )


def _may_be(named: _NamedFile, read: InputFile) -> bool:
    """Whether a file can be the one that is looked for: an archive keeps the names."""
    return read.on_disk.name in (named.real.name, named.absolute.name)


class _NamedFile:
    """Recognises a file by any of the ways in which a person may have named it."""

    def __init__(self, given: Path) -> None:
        self.given = given
        self.absolute = given.absolute()
        self.real = given.resolve()
        # `part-00000-….parquet` alone, copied from a table's log, is enough.
        self.ending = () if given.is_absolute() or self.absolute.exists() else given.parts

    def is_at(self, recorded: Path) -> bool:
        if recorded in (self.absolute, self.real):
            return True
        if self.ending and recorded.parts[-len(self.ending) :] == self.ending:
            return True
        return recorded.name == self.real.name and recorded.resolve() == self.real


def _pipelines(root: Path) -> list[str]:
    folders = root.iterdir() if root.is_dir() else ()
    return sorted(
        folder.name
        for folder in folders
        if PIPELINE_NAME.fullmatch(folder.name) and (folder / "ledger").is_dir()
    )


def _written(sink: Path) -> tuple[SinkFile, ...]:
    """The files that a sink's record names."""
    return read_attempts(sink).files or read_sink_log(sink).files


def _unknown(named: _NamedFile, layouts: list[Layout]) -> UnknownFile:
    for sink in (folder for layout in layouts for folder in layout.table.glob("_*-*/")):
        below = named.real.is_relative_to(sink.resolve())
        if not below or not named.real.is_file() or METADATA_DIRECTORY in named.real.parts:
            continue
        if any(named.is_at(file.path) for file in _written(sink)):
            return UnknownFile(
                f"{named.given} is committed, and its batch is not in the ledger yet.",
                remedy="The next run writes it down before it does anything else.",
                file=named.given,
                uncommitted=False,
            )
        return UnknownFile(
            f"{named.given} is in {sink}, and no committed batch names it.",
            remedy="A driver that is at work or died wrote it; it is never read before its commit.",
            file=named.given,
            uncommitted=True,
        )
    return UnknownFile(
        f"No committed batch of any pipeline read or wrote {named.given}.",
        remedy="Check the path; an input file is known once a run has read it.",
        file=named.given,
        uncommitted=False,
    )
