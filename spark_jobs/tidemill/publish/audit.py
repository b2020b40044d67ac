"""The audit before publishing: rows sealed, rows on disk and rows made visible must agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.errors import Refused
from tidemill.file_formats.parquet import Footer, read_footers
from tidemill.file_formats.table import measure_all
from tidemill.file_formats.written_format import WriteFormat
from tidemill.increments.increments import NetFile, hash_of_files
from tidemill.journal.journal import Event
from tidemill.ledger.ledger import Batch, OutputFile


class BooksDisagree(Refused):
    """Rows or files differ between the sealed set and the disk; carries what differs."""


@dataclass(frozen=True)
class Audited:
    """A file of an increment whose rows agree with the ledger.

    Args:
        footer: The footer of a Parquet file; None of any other.
    """

    batch: int
    file: OutputFile
    path: Path
    written: WriteFormat
    footer: Footer | None


def audit(
    event: Event,
    batches: Sequence[Batch],
    sink: Path,
    written: Mapping[int, WriteFormat],
    net: Sequence[NetFile] | None = None,
    folder: Path | None = None,
) -> list[Audited]:
    """Prove an event's files before anything is committed.

    Rows committed (ledger) = rows in the footers = rows that become visible + rejected rows.

    Args:
        event: What the journal says goes out.
        batches: The ledger's batches `event.first` to `event.last`.
        written: Batch -> how its files were written.
        net: What the good rows were merged into, in modes `update` and `complete`.
        folder: The folder of the increment, where those files are.

    Returns:
        The batches' files; only the rejected ones where the good rows were merged.

    Raises:
        BooksDisagree: the set is not the judged one, a file changed, or a sum differs.
    """
    if hash_of_files(batches, net) != event.files_hash:
        raise BooksDisagree(
            f"The files of increment {event.increment:06d} are not those that were judged.",
            remedy="Compare its sealed.json with the ledger; nothing was published.",
            increment=event.increment,
        )
    audited = _audited(event, batches, sink, written, merged=net is not None)
    visible = sum(one.file.rows for one in audited if not one.file.rejected)
    if net is not None and folder is not None:
        visible = _audited_net(event, net, folder)
    rejected = sum(one.file.rows for one in audited if one.file.rejected)
    if (visible, rejected) != (event.rows, event.rejected):
        raise BooksDisagree(
            f"Increment {event.increment:06d} was judged with {event.rows} rows and "
            f"{event.rejected} rejected, and has {visible} and {rejected}.",
            remedy="Nothing was published; restore increments/ and ledger/ from a backup.",
            increment=event.increment,
            visible=visible,
            rejected=rejected,
        )
    return audited


def _audited(
    event: Event,
    batches: Sequence[Batch],
    sink: Path,
    written: Mapping[int, WriteFormat],
    *,
    merged: bool,
) -> list[Audited]:
    listed = [
        (batch.batch, file)
        for batch in batches
        for file in batch.outputs
        if file.rejected or not merged
    ]
    paths = [sink / file.path for _, file in listed]
    _prove_there(event, paths, sink)
    # The size first: of a file that was cut off there is no footer to be read.
    for (_, file), path in zip(listed, paths, strict=True):
        _prove(event, path, "bytes", file.size, path.stat().st_size)
    formats = [written[number] for number, _ in listed]
    measured = measure_all(zip(paths, formats, strict=True))
    audited = []
    for (number, file), path, format, found in zip(listed, paths, formats, measured, strict=True):
        _prove(event, path, "rows", file.rows, found.rows)
        audited.append(Audited(number, file, path, format, found.footer))
    return audited


def _audited_net(event: Event, net: Sequence[NetFile], folder: Path) -> int:
    """The rows of a net payload, which are those that were judged to the last byte."""
    paths = [folder / file.path for file in net]
    _prove_there(event, paths, folder)
    for file, path in zip(net, paths, strict=True):
        _prove(event, path, "bytes", file.size, path.stat().st_size)
        _prove(event, path, "content", file.sha256, sha256_of(path))
    return sum(footer.rows for footer in read_footers(paths))


def _prove_there(event: Event, paths: Sequence[Path], folder: Path) -> None:
    missing = [str(path.relative_to(folder)) for path in paths if not path.is_file()]
    if missing:
        raise BooksDisagree(
            f"{folder / missing[0]} is gone ({len(missing)} of {len(paths)} files of the "
            "increment).",
            remedy="Restore them from a backup; nothing was published.",
            increment=event.increment,
            missing=missing,
        )


def _prove(event: Event, path: Path, unit: str, judged: object, found: object) -> None:
    if found != judged:
        raise BooksDisagree(
            f"{path} has {found} {unit}, and was judged with {judged}.",
            remedy="Restore the file from a backup; nothing was published.",
            path=path,
            increment=event.increment,
            unit=unit,
            judged=judged,
            found=found,
        )
