"""Reads a source as a streaming DataFrame of typed rows, with unparsed records beside them."""

from __future__ import annotations

from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tidemill.contract.errors import SpecError
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.python import PythonSource

CORRUPT = "_corrupt"
ORIGIN = "_origin"


def read_stream(
    session: SparkSession, pipeline: Pipeline, name: str, *, continuous: bool = False
) -> DataFrame:
    """The new rows of a source: its columns, `_corrupt` (text or null) and `_origin` (text).

    Each source carries its name into the checkpoint, so that one can be added or dropped later.
    """
    spec = pipeline.spec
    source = spec.sources[name]
    # Each kind is imported where it is used: a pipeline of files needs no Kafka.
    if isinstance(source, FileSource):
        from tidemill.engine.sources import file as file_source

        return file_source.stream(session, name, source, spec)
    if isinstance(source, KafkaSource):
        from tidemill.engine.sources import kafka as kafka_source

        return kafka_source.stream(session, name, source, spec, continuous=continuous)
    if isinstance(source, PythonSource):
        from tidemill.engine.sources import python as python_source

        return python_source.stream(session, name, source, pipeline.project)
    from tidemill.engine.sources import testing as trial_source

    return trial_source.stream(session, name, source)


def schema_of(ddl: str, field: str) -> StructType:
    """A schema of the spec as Spark types.

    Args:
        ddl: Spark DDL.
        field: The field of the spec, for the message.

    Raises:
        SpecError: Spark cannot parse it.
    """
    try:
        return cast(StructType, StructType.fromDDL(ddl))
    except Exception as error:
        raise SpecError(
            f"{field} is not Spark DDL: {str(error).splitlines()[0]}",
            remedy='Write e.g. "id string, at timestamp, price decimal(10,2)".',
            field=field,
        ) from error
