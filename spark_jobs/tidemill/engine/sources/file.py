"""A file source: the rows of files as they arrive, or of given files."""

from __future__ import annotations

from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StringType

from tidemill.engine.sources.read import CORRUPT, ORIGIN, schema_of
from tidemill.spec.settings import Trigger
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

# Spark never reads a file older than the newest one it saw less this age; its default of a week
# loses late files in silence, so the default here is "however old".
ANY_AGE = "36500d"
# In one batch of all files, a first run over years of them would not end.
FILES_PER_BATCH = 1000

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def stream(session: SparkSession, name: str, source: FileSource, spec: Spec) -> DataFrame:
    """The rows of new files."""
    reader = _configured(session.readStream.name(name), source)
    if spec.trigger is not Trigger.ONCE:
        if source.maxBytesPerTrigger is not None:
            reader = reader.option("maxBytesPerTrigger", source.maxBytesPerTrigger)
        else:
            files = source.maxFilesPerTrigger or FILES_PER_BATCH
            reader = reader.option("maxFilesPerTrigger", files)
    age = source.maxFileAge
    reader = reader.option("maxFileAge", f"{int(age.total_seconds())}s" if age else ANY_AGE)
    reader = reader.option("latestFirst", source.latestFirst)
    reader = reader.option("fileNameOnly", source.fileNameOnly)
    if not spec.published and source.cleanSource != "off":
        # Where a gate follows, upkeep does it after publishing.
        reader = reader.option("cleanSource", source.cleanSource)
        if source.sourceArchiveDir is not None:
            reader = reader.option("sourceArchiveDir", source.sourceArchiveDir)
    return _with_origin(reader.load(source.path), source)


def read_batch(
    session: SparkSession, source: FileSource, paths: list[str], base: str | None = None
) -> DataFrame:
    """The rows of given files, shaped like those of `stream`.

    Args:
        session: To read with.
        source: The source that the files belong to.
        paths: Theirs.
        base: The directory below which names such as `day=2026-03-01` are partition columns.
    """
    reader = _configured(session.read, source)
    if base is not None:
        reader = reader.option("basePath", base)
    return _with_origin(reader.load(paths), source)


def _configured(reader: Reader, source: FileSource) -> Reader:
    schema = schema_of(source.schema_, "sources.*.schema")
    if source.rules.malformed_rows:
        schema = schema.add(CORRUPT, StringType())
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    return reader.format(source.format).schema(schema).options(**source.reader_options)


def _with_origin(frame: DataFrame, source: FileSource) -> DataFrame:
    if not source.rules.malformed_rows:
        frame = frame.withColumn(CORRUPT, F.lit(None).cast("string"))
    return frame.withColumn(ORIGIN, F.col("_metadata.file_path"))
