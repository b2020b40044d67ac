"""The shape of a transform's plan, which says whether a checkpoint can go on with it.

The transform is given bare inputs: the columns of its sources and static inputs, and no rows. So
nothing of the engine's own plan gets into the shape, and nothing is read.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tidemill.compatibility.plan_shape import Column, PlanShape
from tidemill.contract.layout import Layout
from tidemill.contract.syntax.quantities import as_interval
from tidemill.engine.query.file_columns import FIELDS, METADATA, named_in_spec, of_transform
from tidemill.engine.query.partition_columns import source_partitions, with_partitions
from tidemill.engine.query.pipeline_class import class_of, keeps_state
from tidemill.engine.query.transform import apply, load_transform
from tidemill.engine.shape.expressions import INPUT, Texts
from tidemill.engine.shape.function_hash import hash_of_function
from tidemill.engine.shape.operators import operator_of
from tidemill.engine.sources.columns import schema_of
from tidemill.engine.sources.kinds import spark_source
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.empty_frame import empty_frame
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes, optimised
from tidemill.engine.spark_internals.python_function import python_function, python_udfs
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.sources.static_files import StaticMissing
from tidemill.spec.column_types import quoted
from tidemill.spec.output import OutputMode
from tidemill.spec.pipeline import Pipeline

# What a node of theirs does stands in the columns that they give.
SILENT = frozenset(
    {
        "CollectMetrics",
        "EventTimeWatermark",
        "LocalRelation",
        "LogicalRDD",
        "Project",
        "ResolvedHint",
        "SubqueryAlias",
        "UpdateEventTimeWatermarkColumn",
        "View",
    }
)
# Spark cuts what it shows of an expression after so many parts.
ALL_PARTS = ("spark.sql.debug.maxToStringFields", "100000")


def shape_today(session: SparkSession, pipeline: Pipeline) -> PlanShape:
    """The shape of a pipeline's transform.

    Raises:
        SpecError: schema, expressions or transform do not fit together.
        PySparkException: Spark fails on the way.
    """
    spec, path = pipeline.spec, pipeline.transform_file
    sources = {name: _source(session, pipeline, name) for name in spec.sources}
    statics = {
        name: bare(session, name, _static_schema(pipeline, name), streaming=False)
        for name in spec.statics
    }
    result = apply(load_transform(path), sources, spec, path, statics)
    return shape_of(with_partitions(result, pipeline), spec.output.mode)


def _source(session: SparkSession, pipeline: Pipeline, name: str) -> DataFrame:
    """A source as the transform sees it, without its rows."""
    spec = pipeline.spec
    schema = spark_source(session, pipeline, name).schema()
    cut = (F.expr(sql).alias(column) for column, sql in source_partitions(spec).items())
    if of_transform(pipeline, name) or named_in_spec(spec, name):
        schema = StructType([*schema.fields, StructField(METADATA, FIELDS)])
    rows = bare(session, name, schema).select("*", *cut)
    time = spec.event_time_of(name)
    if time is None or time.watermark is None:
        return rows
    return rows.withWatermark(quoted(time.column), as_interval(time.watermark))


def bare(
    session: SparkSession, name: str, schema: StructType, *, streaming: bool = True
) -> DataFrame:
    """An input without rows, whose columns know its name.

    Args:
        streaming: Whether it is a source.
    """
    return empty_frame(session, schema, {INPUT: name}, streaming=streaming)


def shape_of(result: DataFrame, mode: OutputMode) -> PlanShape:
    """The shape of what a transform made of bare inputs."""
    session = result.sparkSession
    before = session.conf.get(ALL_PARTS[0])
    session.conf.set(*ALL_PARTS)
    try:
        plan = Catalyst(session).inlined(analysed(result))
        texts, planned = Texts(), Texts()
        # Spark keeps what the optimised plan asks for, and joins by the type that it has there.
        operators = [
            operator_of(node, planned, session)
            for node in planned.walk(optimised(session, plan))
            if node.isStreaming() and keeps_state(node)
        ]
        filters, others = [], []
        for node in texts.walk(plan):
            if kind(node) == "Filter":
                filters.append(texts.of(node.condition()))
            elif kind(node) not in SILENT and not (node.isStreaming() and keeps_state(node)):
                arguments = ", ".join(texts.of(one) for one in items(node.expressions()))
                others.append(f"{_called(node)}({arguments})" if arguments else _called(node))
        made_of = [texts.of(one) for one in items(plan.output())]
        columns = (
            Column(name=one.name, type=one.dataType.simpleString(), made_of=text)
            for one, text in zip(result.schema.fields, made_of, strict=True)
        )
        return PlanShape(
            pipeline_class=class_of(result, mode),
            operators=tuple(operators),
            filters=tuple(sorted(filters)),
            columns=tuple(columns),
            others=tuple(others),
            functions=dict(sorted(_functions(plan, session))),
        )
    finally:
        session.conf.set(ALL_PARTS[0], str(before))


def _called(node: Any) -> str:
    if kind(node) == "Join":
        return f"Join {kind(node.joinType()).rstrip('$')} with a static input"
    return kind(node)


def _functions(plan: Any, session: SparkSession) -> Iterator[tuple[str, str]]:
    """The Python functions of rows, by name."""
    for node in nodes(plan):
        if node.isStreaming() and keeps_state(node):
            continue
        for expression in python_udfs(session, node):
            function = python_function(session, expression)
            code = "unknown" if function is None else hash_of_function(function)
            yield str(expression.name()), code


def _static_schema(pipeline: Pipeline, name: str) -> StructType:
    static = pipeline.spec.statics[name]
    if static.reads_pipeline is None:
        return schema_of(str(static.ddl), f"statics.{name}.schema")
    table = Layout(pipeline.layout.root, static.reads_pipeline).table
    schema = table_schema(table)
    if schema is None:
        raise StaticMissing(
            f"statics.{name}: pipeline '{static.reads_pipeline}' has published nothing yet.",
            remedy=f"Run it first: tidemill run {static.reads_pipeline}",
            static=name,
            path=table,
        )
    return schema


def table_schema(table: Path) -> StructType | None:
    """The columns of a published table; None where there is none."""
    if not has_table(table):
        return None
    return StructType.fromJson(json.loads(open_table(table).schema().to_json()))
