"""Reads the input of a committed batch again, as a batch."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.contract.errors import Refused
from tidemill.engine.sources.read import ORIGIN, read_stream
from tidemill.engine.spark_internals.encoded_path import encoded_path
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.clean_source import located
from tidemill.spark_logs.kafka_initial_offsets import initial_offsets_file, read_initial_offsets
from tidemill.spark_logs.offset_ranges import as_offsets, between
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource


class InputGone(Refused):
    """A batch's input cannot be read again as it was; carries `source` and `batch`."""


def read_again(
    session: SparkSession, pipeline: Pipeline, ledger: Ledger, batch: Batch, before: Batch | None
) -> dict[str, DataFrame]:
    """The rows of a batch's input by source, shaped like those of the stream.

    Args:
        session: To read with.
        batch: Committed.
        before: The one before it; None for the first.

    Raises:
        InputGone: a file is not there any more or is another, or the source gives nothing twice.
    """
    return {
        name: _rows(session, pipeline, ledger, name, batch, before)
        for name in pipeline.spec.sources
    }


def _rows(
    session: SparkSession,
    pipeline: Pipeline,
    ledger: Ledger,
    name: str,
    batch: Batch,
    before: Batch | None,
) -> DataFrame:
    source = pipeline.spec.sources[name]
    now = batch.offsets.get(name)
    then = before.offsets.get(name) if before is not None else None
    if now == then:
        pass
    elif isinstance(source, FileSource):
        if any(file.source == name for file in batch.inputs):
            return of_files(session, source, _places(ledger, name, batch))
    elif isinstance(source, KafkaSource):
        from tidemill.engine.sources import kafka as kafka_source

        noted = read_initial_offsets(initial_offsets_file(ledger.layout, ledger.generation, name))
        first, until = as_offsets(then) or noted or {}, as_offsets(now)
        if between(first, until):
            return kafka_source.read_batch(session, source, first, until)
    else:
        raise _gone(name, batch, f"a source of kind {source.kind} gives nothing twice")
    # A batch whose shape is that of the stream, with nothing in it.
    return session.createDataFrame([], read_stream(session, pipeline, name).schema)


def of_files(session: SparkSession, source: FileSource, places: list[Path]) -> DataFrame:
    """The rows of files that are where they were read, or in the archive, with their partitions.

    Args:
        session: To read with.
        source: The source that the files belong to.
        places: Where they are now.
    """
    from tidemill.engine.sources.file import read_batch

    if source.path != str(source.directory):
        # With a glob Spark takes no partition columns from the names of directories.
        return read_batch(session, source, [str(place) for place in places])
    by_base: dict[Path, list[str]] = {}
    for place in places:
        base = source.directory
        if not place.is_relative_to(base):
            base = Path(source.sourceArchiveDir or "/", base.relative_to("/"))
        by_base.setdefault(base, []).append(str(place))
    parts = []
    for base, files in by_base.items():
        rows = read_batch(session, source, files, str(base))
        parts.append(rows if base == source.directory else _from(rows, base, source.directory))
    return reduce(DataFrame.unionAll, parts)


def _from(rows: DataFrame, archive: Path, directory: Path) -> DataFrame:
    """Rows of archived files with the names that these had when they were read."""
    now, then = (encoded_path(rows.sparkSession, place) for place in (archive, directory))
    return rows.withColumn(ORIGIN, F.replace(ORIGIN, F.lit(now), F.lit(then)))


def _places(ledger: Ledger, name: str, batch: Batch) -> list[Path]:
    """The present paths of one source's files."""
    files = [file for file in batch.inputs if file.source == name]
    found = {file.path: located(ledger, batch.batch, file) for file in files}
    lost = next((path for path, place in found.items() if place is None), None)
    if lost is not None:
        raise _gone(name, batch, f"{lost} is gone, or is another file")
    return [place for place in found.values() if place is not None]


def _gone(name: str, batch: Batch, why: str) -> InputGone:
    return InputGone(
        f"sources.{name}: what batch {batch.batch} read cannot be read again: {why}.",
        remedy="Put the file back as it was.",
        source=name,
        batch=batch.batch,
        why=why,
    )
