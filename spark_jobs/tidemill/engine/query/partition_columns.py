"""Partition columns, computed by the engine from a source's row or from its window.

So a change of the transform moves no row to another interval. An expression that names columns of
the sources is computed before the transform; any other is of the result, and may be made of nothing
but its windows and event times.

A partition's value is a text in a directory's name, so only types that every reader reads back
unchanged are permitted. A timestamp becomes the local time, which Delta's readers take for UTC, and
the two hours of the end of summer time become one directory. A decimal between -1 and 0 is read as
`0.-1` by deltalake 1.6.6, which then fails.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.contract.errors import SpecError
from tidemill.engine.query.expressions import refuse_expressions
from tidemill.engine.query.file_columns import METADATA
from tidemill.engine.query.pipeline_class import WATERMARK
from tidemill.engine.spark_internals.plan import analysed, items, kind
from tidemill.engine.spark_internals.plan_outline import columns_named
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

# Spark's marks of an event time and of what `window` and `session_window` make.
TIMES = (WATERMARK, "spark.timeWindow", "spark.sessionWindow")

FAITHFUL = ("string", "date", "boolean", "byte", "short", "integer", "long")


class PartitionNotOfTime(SpecError):
    """A partition of the result is made of something else than windows; carries `column`."""


class PartitionTypeUnfaithful(SpecError):
    """A partition column has a type that does not survive as text; carries `column`, `type`."""


def source_partitions(spec: Spec) -> dict[str, str]:
    """Partition column -> expression, for those that are computed of a source's row."""
    later = result_partitions(spec)
    return {name: sql for name, sql in spec.output.partition_by.items() if name not in later}


def result_partitions(spec: Spec) -> dict[str, str]:
    """Partition column -> expression, for those that are computed of the transform's result."""
    if not spec.output.partition_by:
        return {}
    known = {column.lower() for source in spec.sources.values() for column in source.columns}
    if spec.sources_of(FileSource):
        known.add(METADATA)
    return {
        name: sql
        for name, sql in spec.output.partition_by.items()
        if any(word.lower() not in known for word in columns_named(sql))
    }


def with_partitions(result: DataFrame, pipeline: Pipeline) -> DataFrame:
    """A transform's result with the partition columns that are computed of it.

    Raises:
        PartitionNotOfTime: one is made of a column that is neither a window nor an event time.
        ExpressionRefused: an expression names a column that the result does not have.
    """
    for name, sql in result_partitions(pipeline.spec).items():
        try:
            result = result.withColumn(name, F.expr(sql))
        except AnalysisException:
            refuse_expressions(result, {name: sql}, "output.partition_by.{}".format)
            raise
        # In a batch no column is marked as an event time; the stream is asked before it starts.
        others = _not_of_time(analysed(result), name) if result.isStreaming else iter(())
        other = next(others, None)
        if other is not None:
            raise PartitionNotOfTime(
                f"{pipeline.spec_file}: output.partition_by.{name} is made of '{other}', which is "
                "neither a window nor an event time: the transform could move rows.",
                remedy="Make it of a window, as in to_date(window.start), or of source columns and "
                "_metadata.file_name.",
                path=pipeline.spec_file,
                field=f"output.partition_by.{name}",
                column=other,
            )
    return result


def refuse_unfaithful_types(columns: StructType, spec: Spec, spec_file: Path) -> None:
    """Look at the partition columns' types, before a query starts.

    Raises:
        PartitionTypeUnfaithful: one is a timestamp, a decimal, a float or the like.
    """
    for name in spec.output.partition_by:
        kind = columns[name].dataType.typeName()
        if kind not in FAITHFUL:
            raise PartitionTypeUnfaithful(
                f"{spec_file}: output.partition_by.{name} is a {kind}, and partitions may be "
                f"{', '.join(FAITHFUL)}.",
                remedy="Make it a date or a text, e.g. date_format(at, 'yyyy-MM-dd HH').",
                path=spec_file,
                field=f"output.partition_by.{name}",
                column=name,
                type=kind,
            )


def _not_of_time(plan: Any, name: str) -> Iterator[str]:
    """The columns that a column is made of and that are not times."""
    ids = {
        attribute.exprId().id() for attribute in items(plan.output()) if attribute.name() == name
    }
    while kind(plan) in ("Project", "SubqueryAlias", "Filter"):
        if kind(plan) == "Project":
            matching = [
                attribute
                for attribute in items(plan.projectList())
                if attribute.exprId().id() in ids
            ]
            ids = {
                r.exprId().id()
                for attribute in matching
                for r in items(attribute.references().toSeq())
            }
        plan = plan.child()
    for attribute in items(plan.output()):
        marks = str(attribute.metadata().json())
        if attribute.exprId().id() in ids and not any(mark in marks for mark in TIMES):
            yield str(attribute.name())
