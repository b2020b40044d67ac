"""The net payload: the changed rows of an increment of mode `update` or `complete`.

A batch of these modes gives changed rows, or all of them, again. Only the last
row of each key counts, or only the last batch. That is made once, when the increment is sealed, and
judged and published as it is.
"""

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.errors import Refused
from tidemill.file_formats.keyed_rows import KeyedFile, last_of_each, rows_at
from tidemill.file_formats.parquet import Footer, read_footer
from tidemill.file_formats.parquet_rows import row_chunks
from tidemill.increments.increments import NetFile
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.output_file import OutputFile
from tidemill.publish.delta.table_schema import born_schema, check_file, together
from tidemill.spec.output import OutputMode
from tidemill.storage.sync import make_folder, sync


class AttemptChanged(Refused):
    """A batch's file is not the one it committed; carries `path`, `committed` and `found`."""


def write_net_payload(
    ledger: Ledger,
    batches: Sequence[Batch],
    folder: Path,
    *,
    mode: OutputMode,
    keys: Sequence[str],
    partition_by: Sequence[str],
    epoch: int,
) -> tuple[NetFile, ...]:
    """Merge the good rows of an increment's batches.

    Args:
        batches: The batches of the increment, in order.
        folder: The increment's folder; the files are in a directory of it, which nothing
            reads before `sealed.json` names it.
        mode: `update` or `complete`.
        keys: By which a row replaces another, in mode `update`.
        partition_by: The partition columns, which the files hold like any other.

    Returns:
        The files, each whole on disk; none where no row changed.

    Raises:
        AttemptChanged: a file is not the one that its batch has committed.
        SchemaChanged: a file holds other columns than its batch's code said.
    """
    merged = batches if mode is OutputMode.UPDATE else batches[-1:]
    schema = payload_schema(ledger, batches)
    files = list(_good_files(ledger, merged, partition_by))
    if mode is OutputMode.UPDATE:
        places = last_of_each(files, pa.schema([schema.field(key) for key in keys]))
        rows = (c for number, at in places.items() for c in rows_at(files[number], at, schema))
    else:
        rows = (c for file in files for c in row_chunks(file.path, file.partition, schema))
    first = next(rows, None)
    if first is None:
        return ()
    path = folder / f"payload-{epoch:06d}-{uuid.uuid4().hex[:12]}" / "part-00000.parquet"
    make_folder(path.parent)
    with path.open("wb") as file, pq.ParquetWriter(file, schema) as writer:
        writer.write_batch(first)
        for chunk in rows:
            writer.write_batch(chunk)
    sync([path], path.parent)
    return (_described(path, folder),)


def payload_schema(ledger: Ledger, batches: Sequence[Batch]) -> pa.Schema:
    """The published columns: those of the newest code, then what only older code had."""
    newest = {batch.start: batch for batch in batches}
    schemas = [born_schema(ledger.table_schema(newest[s])) for s in sorted(newest, reverse=True)]
    return pa.schema(together(schemas).to_arrow())


def _good_files(
    ledger: Ledger, batches: Sequence[Batch], partition_by: Sequence[str]
) -> Iterator[KeyedFile]:
    for batch in batches:
        said = born_schema(ledger.table_schema(batch))
        for file in batch.outputs:
            if not file.rejected and file.rows:
                path = ledger.sink / file.path
                footer = read_footer(path)
                _prove(path, file, footer)
                check_file(path, footer, said, partition_by)
                yield KeyedFile(path, file.partition)


def _prove(path: Path, file: OutputFile, footer: Footer) -> None:
    committed, found = (file.size, file.rows), (footer.size, footer.rows)
    if found != committed:
        raise AttemptChanged(
            f"{path} has {footer.rows} rows in {footer.size} bytes, and was committed with "
            f"{file.rows} in {file.size}.",
            remedy="Restore the file from a backup; nothing was sealed.",
            path=path,
            committed=committed,
            found=found,
        )


def _described(path: Path, folder: Path) -> NetFile:
    footer = read_footer(path)
    return NetFile(
        path=str(path.relative_to(folder)),
        size=footer.size,
        rows=footer.rows,
        uncompressed_bytes=footer.uncompressed_bytes,
        sha256=sha256_of(path),
    )
