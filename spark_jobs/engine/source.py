"""The source: a streaming DataFrame of typed rows, with what did not parse kept beside them."""

from __future__ import annotations

from typing import TypeVar, cast

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader
from pyspark.sql.types import StringType, StructType

from spark_jobs.contract.errors import SpecError
from spark_jobs.contract.file_source import FileSource
from spark_jobs.contract.spec import Trigger

CORRUPT = "_corrupt"
ORIGIN = "_origin"
# Spark never reads a file older than the newest one it saw less this age; its default of a week
# loses late files in silence, so the default here is "however old".
ANY_AGE = "36500d"

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def source_schema(source: FileSource) -> StructType:
    """The spec's columns as Spark types, without the engine's own.

    Raises:
        SpecError: Spark cannot parse the DDL.
    """
    try:
        return cast(StructType, StructType.fromDDL(source.schema_))
    except Exception as error:
        raise SpecError(
            f"sources.*.schema is no Spark DDL: {str(error).splitlines()[0]}",
            remedy='Write e.g. "id string, at timestamp, price decimal(10,2)".',
            field="sources.*.schema",
        ) from error


def read_stream(session: SparkSession, source: FileSource, trigger: Trigger) -> DataFrame:
    """The rows of new files, with columns `_corrupt` (text or null) and `_origin` (file)."""
    reader = _configured(session.readStream, source)
    if trigger is Trigger.AVAILABLE_NOW:
        reader = reader.option("maxFilesPerTrigger", source.maxFilesPerTrigger)
    age = source.maxFileAge
    reader = reader.option("maxFileAge", f"{int(age.total_seconds())}s" if age else ANY_AGE)
    reader = reader.option("latestFirst", source.latestFirst)
    return _with_origin(reader.load(source.path), source)


def read_batch(session: SparkSession, source: FileSource, paths: list[str]) -> DataFrame:
    """The rows of given files, shaped like those of `read_stream`."""
    return _with_origin(_configured(session.read, source).load(paths), source)


def _configured(reader: Reader, source: FileSource) -> Reader:
    schema = source_schema(source)
    if source.format != "parquet":
        schema = schema.add(CORRUPT, StringType())
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", CORRUPT)
    return reader.format(source.format).schema(schema).options(**source.reader_options)


def _with_origin(frame: DataFrame, source: FileSource) -> DataFrame:
    if source.format == "parquet":
        frame = frame.withColumn(CORRUPT, F.lit(None).cast("string"))
    return frame.withColumn(ORIGIN, F.col("_metadata.file_path"))
