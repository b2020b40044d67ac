"""A file source: the rows of files as they arrive, or of given files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StringType

from tidemill.contract.syntax.hadoop_glob import exactly
from tidemill.contract.syntax.quantities import as_time_string
from tidemill.engine.sources.columns import CORRUPT, ORIGIN, schema_of
from tidemill.engine.sources.csv_times import times_as_text, with_times
from tidemill.engine.sources.input_gone import batch_gone, files_gone
from tidemill.engine.sources.json_lines import elements_of, parse_lines
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.engine.sources.text_lines import load_lines, one_column, with_undecodable
from tidemill.engine.spark_internals.encoded_path import encoded_path
from tidemill.engine.spark_internals.read_files_once import read_files_once
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.clean_source import located
from tidemill.spark_logs.offset_ranges import Range
from tidemill.spec.settings import Trigger
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

# Spark never reads a file older than the newest one it saw less this age; its default of a week
# loses late files in silence, so the default here is "however old".
ANY_AGE = "36500d"
# In one batch of all files, a first run over years of them would not end.
FILES_PER_BATCH = 1000
LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


@dataclass(frozen=True)
class SparkFileSource(SparkSource[FileSource]):
    """Files."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        return stream(self.session, self.name, self.spec, self.pipeline.spec)

    def read_again(self, ledger: Ledger, batch: Batch, before: Batch | None) -> DataFrame:
        files = [file for file in batch.inputs if file.source == self.name]
        places = []
        for file in files:
            place = located(ledger, batch.batch, file)
            if place is None:
                raise batch_gone(self.name, batch, f"{file.path} is gone, or is another file")
            places.append(place)
        return _read_files(self.session, self.spec, places) if places else self.empty()

    def read_part(
        self, files: Sequence[tuple[Path, InputFile]], ranges: Sequence[Range]
    ) -> DataFrame:
        if not files:
            return self.empty()
        with _listed_here(self.session):
            rows = _read_files(self.session, self.spec, [at for at, _ in files])
        listed = len(rows.inputFiles())
        if listed != len({at for at, _ in files}):
            raise files_gone([file for _, file in files], listed=listed)
        return rows


def stream(session: SparkSession, name: str, source: FileSource, spec: Spec) -> DataFrame:
    """The rows of new files."""
    reader = session.readStream.name(name)
    if spec.trigger is not Trigger.ONCE:
        if source.maxBytesPerTrigger is not None:
            reader = reader.option("maxBytesPerTrigger", source.maxBytesPerTrigger)
        else:
            files = source.maxFilesPerTrigger or FILES_PER_BATCH
            reader = reader.option("maxFilesPerTrigger", files)
    age = source.maxFileAge
    reader = reader.option("maxFileAge", as_time_string(age) if age else ANY_AGE)
    reader = reader.option("latestFirst", source.latestFirst)
    reader = reader.option("fileNameOnly", source.fileNameOnly)
    if not spec.published and source.cleanSource != "off":
        # Where a gate follows, upkeep does it after publishing.
        reader = reader.option("cleanSource", source.cleanSource)
        if source.sourceArchiveDir is not None:
            reader = reader.option("sourceArchiveDir", source.sourceArchiveDir)
    read_files_once(session)
    return _loaded(reader, source, lambda reader: reader.load(source.path))


def read_batch(
    session: SparkSession, source: FileSource, paths: list[str], base: str | None = None
) -> DataFrame:
    """The rows of given files, shaped like those of `stream`.

    Args:
        paths: Theirs.
        base: The directory below which names such as `day=2026-03-01` are partition columns.
    """
    reader = session.read
    if base is not None:
        reader = reader.option("basePath", base)
    return _loaded(reader, source, lambda reader: reader.load([exactly(path) for path in paths]))


def _loaded(reader: Reader, source: FileSource, load: Callable[[Reader], DataFrame]) -> DataFrame:
    """The rows of files, with what is malformed in `_corrupt`, and `_origin`.

    Args:
        load: Loads the files with a reader that has its options.
    """
    schema = schema_of(source.schema_, "sources.*.schema")
    if source.in_lines:
        lines = load_lines(reader, source, schema, load)
        if source.is_on("multiLine"):
            lines = elements_of(lines, source, schema)
        return (one_column if source.rules.one_text else parse_lines)(lines, source, schema)
    read = times_as_text(schema, source)
    if source.rules.malformed_rows:
        read = read.add(CORRUPT, StringType())
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    rows = load(reader.format(source.format).schema(read).options(**source.reader_options))
    # First of all, or Spark hands all that it knows of a file through the steps in between.
    rows = rows.withColumn(ORIGIN, F.col("_metadata.file_path"))
    if source.rules.malformed_rows:
        rows = with_times(rows, schema, source)
    else:
        rows = rows.withColumn(CORRUPT, F.lit(None).cast("string"))
    return with_undecodable(rows, source) if source.rules.encodings else rows


def _read_files(session: SparkSession, source: FileSource, places: list[Path]) -> DataFrame:
    """The rows of files that are where they were read, or in the archive, with their partitions."""
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


@contextmanager
def _listed_here(session: SparkSession) -> Iterator[None]:
    """Let the driver list given files by itself: a job with a task for each takes far longer."""
    before = session.conf.get(LISTING)
    session.conf.set(LISTING, str(2**31 - 1))
    try:
        yield
    finally:
        session.conf.set(LISTING, str(before))
