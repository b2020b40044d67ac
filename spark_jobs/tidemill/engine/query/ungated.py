"""Queries that end in a sink of Spark's own: kafka, foreach, foreachBatch, console, memory.

No gate stands before such a sink, so its transform may keep state and use the clock. Good rows go
to the sink, at least once. Rejected ones are left out and counted by their reason, in the same pass
over the source; a continuous query cannot count, and ends with an error at the first of them.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.engine.query.file_columns import of_transform
from tidemill.engine.query.kafka_columns import refuse_other_columns
from tidemill.engine.query.metrics import observed
from tidemill.engine.query.pipeline_class import class_of, state_encoding
from tidemill.engine.query.planned_query import ROWS_OUT, ROWS_READ, SAMPLE, Plan, Watch
from tidemill.engine.query.read_once import read_once
from tidemill.engine.query.refusals import refuse_unsupported
from tidemill.engine.query.reject import good, reasons, tag
from tidemill.engine.query.transform import apply, load_transform
from tidemill.engine.sources.static_inputs import Statics
from tidemill.file_formats.reader import REJECT
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sinks import (
    KafkaSink,
    MemorySink,
)
from tidemill.spec.spec import Spec


def plan_rows(
    sources: Mapping[str, DataFrame],
    pipeline: Pipeline,
    watch: Watch,
    statics: Statics | None = None,
) -> Plan:
    """The rows that the sink writes: the transform's result.

    Args:
        sources: Source -> its rows, with `_corrupt` and `_origin`.
        pipeline: With a `sink` in its spec.
        watch: What is observed on the way.
        statics: Static input -> its rows.

    Raises:
        SpecError: schema, expressions, transform, output mode and sink do not fit together.
    """
    spec, path = pipeline.spec, pipeline.transform_file
    tagged = {
        name: tag(frame, spec, name, of_transform(pipeline, name))
        for name, frame in sources.items()
    }
    fine = {
        name: good(_strict(frame) if watch.continuous else _counted(frame, spec, name), spec, name)
        for name, frame in tagged.items()
    }
    rows = observed(apply(load_transform(path), fine, spec, path, statics), pipeline)
    refuse_unsupported(rows, path, spec.output.mode)
    if isinstance(spec.sink, KafkaSink):
        refuse_other_columns(rows, path, topic_given=spec.sink.topic is not None)
    schema, encoding = rows.schema, state_encoding(rows)
    pipeline_class = class_of(rows, spec.output.mode)
    if not watch.continuous:
        rows = rows.observe(ROWS_OUT, F.count(F.lit(1)).alias("rows"))
    if watch.sample:
        row = F.to_json(F.struct(*[F.col(f"`{name}`") for name in schema.names]))
        rows = rows.observe(SAMPLE, F.max_by(row, F.xxhash64(row), watch.sample).alias("rows"))
    return Plan(read_once(rows), schema, pipeline_class, encoding)


def starts_over(spec: Spec) -> bool:
    """Whether nothing of what an earlier run wrote exists any more.

    Spark recovers a memory sink in mode `complete` only; in the others it refuses the checkpoint,
    which would say of rows that they are there.
    """
    return isinstance(spec.sink, MemorySink) and spec.output.mode is not OutputMode.COMPLETE


def _counted(tagged: DataFrame, spec: Spec, name: str) -> DataFrame:
    reason = F.col(f"{REJECT}.reason")
    counts = [F.count_if(reason == one).alias(one) for one in reasons(spec, name)]
    return tagged.observe(f"{ROWS_READ}.{name}", F.count(F.lit(1)).alias("rows"), *counts)


def _strict(tagged: DataFrame) -> DataFrame:
    """The same rows, of which a rejected one is an error."""
    reject = F.col(REJECT)
    words = F.concat_ws(" ", F.lit("rejected row:"), reject["reason"], F.lit("at"), reject["file"])
    return tagged.where(
        F.when(reject["record"].isNull(), F.lit(True)).otherwise(F.raise_error(words))
    )
