"""The kinds of sources that Spark reads: the only table of them in the engine."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemill.engine.sources.spark_source import SparkSource
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.python import PythonSource
from tidemill.spec.sources.table import TableSource
from tidemill.spec.spec import Source


def spark_source(
    session: SparkSession, pipeline: Pipeline, name: str, spec: Source | None = None
) -> SparkSource[Any]:
    """A source of a pipeline in Spark; nothing is read of it yet.

    Args:
        spec: How it is read, where that is not as the spec says today.
    """
    # Each kind is imported where it is used: a pipeline of files needs no Kafka.
    match source := spec or pipeline.spec.sources[name]:
        case FileSource():
            from tidemill.engine.sources.file import SparkFileSource

            return SparkFileSource(session, pipeline, name, source)
        case KafkaSource():
            from tidemill.engine.sources.kafka import SparkKafkaSource

            return SparkKafkaSource(session, pipeline, name, source)
        case PythonSource():
            from tidemill.engine.sources.python import SparkPythonSource

            return SparkPythonSource(session, pipeline, name, source)
        case TableSource():
            from tidemill.engine.sources.table import SparkTableSource

            return SparkTableSource(session, pipeline, name, source)
    from tidemill.engine.sources.testing import SparkTrialSource

    return SparkTrialSource(session, pipeline, name, source)


def read_stream(
    session: SparkSession, pipeline: Pipeline, name: str, *, continuous: bool = False
) -> DataFrame:
    """The new rows of a source, as `SparkSource.stream` gives them."""
    return spark_source(session, pipeline, name).stream(continuous=continuous)
