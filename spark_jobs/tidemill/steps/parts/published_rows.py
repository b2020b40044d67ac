"""The published rows that a whole-table check reads together with an increment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import arrow_source
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.file_formats.keyed_rows import KeyedFile, rows_at, with_keys_of
from tidemill.gate.sample import SampleFile
from tidemill.publish.delta.live_files import LiveFile, live_files
from tidemill.spec.output import Output, OutputMode


@contextmanager
def published_beside(
    layout: Layout, output: Output, files: Sequence[SampleFile]
) -> Iterator[tuple[SampleFile, ...]]:
    """The published rows of the partitions that an increment touches.

    Args:
        files: The files of the increment, as they are judged.

    Yields:
        In mode `append` the published files; in mode `update` a file of the rows that the increment
        leaves alone; nothing in mode `complete`, where the increment is the whole table.
    """
    replaces_all = output.mode is OutputMode.COMPLETE
    if replaces_all or not files or not has_table(layout.table):
        yield ()
        return
    published = live_files(open_table(layout.table), layout.table)
    touched = _touched(files, list(output.partition_by))
    beside = [file for file in published if tuple(sorted(file.partition.items())) in touched]
    if output.mode is OutputMode.APPEND:
        yield tuple(
            SampleFile(file.path, sink_of(file.path, layout.table), file.partition)
            for file in beside
        )
        return
    with TemporaryDirectory(prefix="tidemill-beside-") as folder:
        path = Path(folder) / "beside.parquet"
        _write_the_rest(beside, files, output.keys, path)
        yield (SampleFile(path, path.parent, {}),)


def _touched(files: Sequence[SampleFile], partitions: list[str]) -> set[tuple[object, ...]]:
    """The partitions that rows are in, each as pairs in the order of names."""
    found: set[tuple[object, ...]] = set()
    for file in files:
        inside = [name for name in partitions if name not in file.partition]
        values = [file.partition]
        if inside:
            table = pq.read_table(arrow_source(file.path), columns=inside, partitioning=None)
            text = pa.schema([(name, pa.string()) for name in inside])
            values = table.group_by(inside).aggregate([]).cast(text).to_pylist()
        found |= {tuple(sorted(value.items())) for value in values}
    return found


def _write_the_rest(
    beside: Sequence[LiveFile], files: Sequence[SampleFile], keys: Sequence[str], path: Path
) -> None:
    schema = pq.read_schema(arrow_source(files[0].path))
    incoming = [KeyedFile(file.path, file.partition) for file in files]
    replaced = with_keys_of(beside, incoming, pa.schema([schema.field(key) for key in keys]))
    nothing = pa.array([], pa.int64())
    with pq.ParquetWriter(path, schema) as writer:
        for number, file in enumerate(beside):
            places = replaced.get(number, nothing)
            for chunk in rows_at(file, places, schema, inverted=True):
                writer.write_batch(chunk)


def sink_of(path: Path, table: Path) -> Path:
    """The folder in which a file's partition directories begin: a sink, or the table's root."""
    first = path.relative_to(table).parts[0]
    return table / first if first.startswith("_") and "=" not in first else table
