"""Some rows of a batch, for a person who watches."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from spark_jobs.contract.output import OutputMode
from spark_jobs.contract.pipeline import Pipeline
from spark_jobs.engine.manner import Rows
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.query import Plan
from spark_jobs.ledger.batch import Batch


def shown_rows(
    session: SparkSession,
    plan: Plan,
    pipeline: Pipeline,
    batch: Batch,
    progress: Progress,
    limit: int,
) -> Rows:
    """Some rows of a committed batch, column -> value.

    Of a pipeline that publishes they are read from the files that the batch committed. A sink of
    Spark's own gives nothing back: there they are a sample that the query took on the way.

    Args:
        session: To read with.
        plan: Of the query.
        pipeline: Whose.
        batch: In the ledger.
        progress: Of the query.
        limit: Most rows.
    """
    spec = pipeline.spec
    if not spec.published:
        return [json.loads(row) for row in progress.samples.get(batch.batch, ())]
    sink = pipeline.layout.sink(batch.generation)
    files = [sink / file.path for file in batch.outputs if not file.rejected and file.rows]
    if not files:
        return []
    # An attempt is a directory of its own, below which its partitions begin.
    within = 0 if spec.output.mode is OutputMode.APPEND else 2
    base = sink.joinpath(*files[0].relative_to(sink).parts[:within])
    reader = session.read.format(spec.output.format).schema(plan.rows.schema)
    frame = reader.option("basePath", str(base)).load([str(file) for file in files])
    # Arrow keeps the session's time zone, which collect() turns into this machine's.
    table = frame.select(*plan.table_schema.names).limit(limit).toArrow()
    rows: Rows = table.to_pylist(maps_as_pydicts="lossy")
    return rows
