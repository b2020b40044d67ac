"""Reads the input of a committed batch again, as a batch."""

from pyspark.sql import DataFrame, SparkSession

from tidemill.engine.sources.kinds import spark_source
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.spec.pipeline import Pipeline


def read_again(
    session: SparkSession, pipeline: Pipeline, ledger: Ledger, batch: Batch, before: Batch | None
) -> dict[str, DataFrame]:
    """The rows of a batch's input by source, with the schemas of the streams.

    Args:
        batch: The committed batch.
        before: The batch before it; None for the first.

    Raises:
        InputGone: a file is not there any more or is another, or a source gives nothing twice.
    """
    rows = {}
    for name in pipeline.spec.sources:
        source = spark_source(session, pipeline, name)
        start = before.offsets.get(name) if before is not None else None
        has_read = batch.offsets.get(name) != start
        rows[name] = source.read_again(ledger, batch, before) if has_read else source.empty()
    return rows
