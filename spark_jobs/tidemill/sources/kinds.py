"""The kinds of sources that can be asked without a JVM: the only table of them below Spark."""

import os
from collections.abc import Mapping
from typing import Any

from tidemill.sources.files.open_file_source import OpenFileSource
from tidemill.sources.open_source import OpenSource
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.table import TableSource


def open_source(
    pipeline: Pipeline, name: str, environ: Mapping[str, str] = os.environ
) -> OpenSource[Any]:
    """A source of a pipeline, opened; nothing is asked of it yet."""
    match source := pipeline.spec.sources[name]:
        case FileSource() if source.fetch is not None:
            # A pipeline of local files needs no client of object stores.
            from tidemill.sources.files.objects.open_fetched_source import OpenFetchedSource

            return OpenFetchedSource(name, source, pipeline, environ)
        case FileSource():
            return OpenFileSource(name, source, pipeline, environ)
        case KafkaSource():
            # A pipeline without Kafka needs no client of it.
            from tidemill.sources.kafka.open_kafka_source import OpenKafkaSource

            return OpenKafkaSource(name, source, pipeline, environ)
        case TableSource():
            # A pipeline without such a source needs no reader of Delta here.
            from tidemill.sources.tables.open_table_source import OpenTableSource

            return OpenTableSource(name, source, pipeline, environ)
    return OpenSource(name, source, pipeline, environ)


def open_sources(
    pipeline: Pipeline, environ: Mapping[str, str] = os.environ
) -> list[OpenSource[Any]]:
    """Every source of a pipeline, opened."""
    return [open_source(pipeline, name, environ) for name in pipeline.spec.sources]
