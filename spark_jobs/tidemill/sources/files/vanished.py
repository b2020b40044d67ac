"""Files that were read and are gone: all of a source's, or all of a sub-folder's.

A disk that is not mounted looks like this: its mount point is an empty folder, of which "nothing
new" would be said for ever. A source from which some files were removed does not.
"""

from collections.abc import Sequence
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.layout import Layout
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Batch, Ledger
from tidemill.sources.files.listing import Listing
from tidemill.sources.files.scan import Scan
from tidemill.sources.files.source_tree import readable
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource

# A start is known by its generation and epoch.
StartId = tuple[str, int]


class InputVanished(Refused):
    """Files were read, and none of them is there any more; carries `files` and `folder`."""


def problems_of_vanished(
    name: str, source: FileSource, scan: Scan, layout: Layout, batches: Sequence[Batch]
) -> list[Problem]:
    """Files that vanished, as the spec's `vanished` rates them; an emptied sub-folder only warns.

    Args:
        source: How the spec rates it.
        layout: The pipeline's layout; its starts say which files were to be put away.
        batches: All of the generation; read one by one only where something may have vanished.
    """
    if source.vanished is Rating.IGNORE or source.cleanSource != "off":
        return []
    if scan.known == scan.read.count:
        return []
    with readable(f"sources.{name}.path"):
        without_files = scan.read.folders() - {file.path.parent for file in scan.listing.files}
        if scan.known and not _emptied_folders(without_files, source.directory):
            return []
        return _problems(name, source, scan, layout, _gone(name, source, scan.listing, batches))


def _gone(
    name: str, source: FileSource, listing: Listing, batches: Sequence[Batch]
) -> list[tuple[Batch, InputFile]]:
    """Batch and file, of files that were read and are not listed any more."""
    there = {_identity(file.path, source) for file in (*listing.files, *listing.overlooked)}
    return [
        (batch, file)
        for batch in batches
        for file in batch.inputs
        if file.source == name and _identity(file.on_disk, source) not in there
    ]


def _identity(path: Path, source: FileSource) -> str:
    """The name by which Spark knows a file."""
    return path.name if source.fileNameOnly else str(path)


def _problems(
    name: str,
    source: FileSource,
    scan: Scan,
    layout: Layout,
    found: list[tuple[Batch, InputFile]],
) -> list[Problem]:
    cleaning = _cleaning_starts(name, [batch for batch, _ in found], layout)
    gone = [file for batch, file in found if (batch.generation, batch.start) not in cleaning]
    if gone and not scan.known and not any(file.on_disk.exists() for file in gone):
        return [_problem(name, source.vanished, source.directory, gone)]
    return [
        _problem(name, Rating.WARN, folder, [f for f in gone if folder in f.on_disk.parents])
        for folder in _emptied_folders({file.on_disk.parent for file in gone}, source.directory)
    ]


def _problem(name: str, rating: Rating, folder: Path, gone: list[InputFile]) -> Problem:
    text = (
        f"sources.{name}: none of the {len(gone)} files that were read from {folder} is there any "
        f"more ({gone[0].path} was one)."
    )
    remedy = (
        f"Mount the disk of {folder}, or put the files back. If they were removed on purpose, set "
        f"sources.{name}.vanished: ignore."
    )
    files = [file.path for file in gone]
    return Problem(rating, InputVanished(text, remedy=remedy, files=files, folder=folder))


def _cleaning_starts(name: str, batches: list[Batch], layout: Layout) -> set[StartId]:
    """The starts whose files were to be put away after they were published."""
    return {
        (generation, start.epoch)
        for generation in {batch.generation for batch in batches}
        for start in Ledger(layout, generation).starts()
        if name in start.cleaned_sources
    }


def _emptied_folders(read_from: set[Path], directory: Path) -> list[Path]:
    """The sub-folders that files were read from, that are there, and in which nothing is.

    A folder that is gone itself was removed; what is left of one that is not mounted is empty.
    """
    nearest = {_nearest_existing(folder) for folder in read_from}
    below = [folder for folder in nearest if directory in folder.parents]
    return sorted(folder for folder in below if not any(folder.iterdir()))


def _nearest_existing(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())
