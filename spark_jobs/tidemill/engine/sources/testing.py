"""Sources for testing: rows that Spark generates, and lines from a socket."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemill.engine.sources.read import CORRUPT, ORIGIN
from tidemill.spec.sources.testing import TrialSource


def stream(session: SparkSession, name: str, source: TrialSource) -> DataFrame:
    """The rows of a trial source; none of them can be malformed."""
    reader = session.readStream.name(name).format(source.kind)
    rows = reader.options(**source.reader_options).load()
    return rows.select(
        *source.columns,
        F.lit(None).cast("string").alias(CORRUPT),
        F.lit(source.origin).alias(ORIGIN),
    )
