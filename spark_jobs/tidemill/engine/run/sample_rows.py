"""Sample rows of a batch, for a person who watches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidemill.engine.query.planned_query import Plan
from tidemill.engine.run.options import Rows
from tidemill.engine.run.progress import Progress
from tidemill.engine.sinks.output_format import in_format
from tidemill.file_formats.written_format import written_by
from tidemill.ledger.batch import Batch
from tidemill.spec.column_types import quoted
from tidemill.spec.output import OutputMode

if TYPE_CHECKING:
    from tidemill.engine.run.query_run import QueryRun


def shown_rows(run: QueryRun, plan: Plan, batch: Batch, progress: Progress) -> Rows:
    """Some rows of a committed batch, column -> value.

    A pipeline that publishes has them in the files that the batch committed. Spark's own sinks give
    nothing back: there they are a sample that the query took on the way.

    Args:
        run: The query; its options say how many rows at most.
        progress: The reports on the query's batches.
    """
    pipeline = run.context.pipeline
    spec = pipeline.spec
    if not spec.published:
        return [json.loads(row) for row in progress.samples.get(batch.batch, ())]
    sink = pipeline.layout.sink(batch.generation)
    files = [sink / file.path for file in batch.outputs if not file.rejected and file.rows]
    if not files:
        return []
    on_disk, within = plan.rows, 2
    if spec.output.mode is OutputMode.APPEND:
        # An attempt is a directory of its own, below which its partitions begin; this is not one.
        path = pipeline.transform_file
        on_disk, within = in_format(on_disk, plan.table_schema, spec.output, path), 0
    base = sink.joinpath(*files[0].relative_to(sink).parts[:within])
    written = written_by(spec.output)
    reader = run.session.read.format(written.format).schema(on_disk.schema)
    reader = reader.options(**written.rereading).option("basePath", str(base))
    columns = map(quoted, plan.table_schema.names)
    frame = reader.load([str(file) for file in files]).select(*columns)
    # Arrow keeps the session's time zone, which collect() turns into this machine's.
    rows: Rows = frame.limit(run.options.limit).toArrow().to_pylist(maps_as_pydicts="lossy")
    return rows
