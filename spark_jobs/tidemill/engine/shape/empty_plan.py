"""Plans a pipeline on inputs without rows, and tells everything that a start would refuse."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from tidemill.contract.errors import TidemillError
from tidemill.engine.query import ungated
from tidemill.engine.query.build import plan_rows, result_of
from tidemill.engine.query.planned_query import Watch
from tidemill.engine.query.result_checks import result_checks
from tidemill.engine.shape.transform_shape import bare
from tidemill.engine.sources.columns import CORRUPT, ORIGIN, schema_of
from tidemill.engine.sources.kinds import spark_source
from tidemill.engine.spark_errors import from_spark
from tidemill.spec.pipeline import Pipeline

# Pipeline -> the columns of the table that it publishes.
Tables = Mapping[str, StructType]


@dataclass(frozen=True)
class EmptyPlan:
    """A pipeline's plan on inputs without rows.

    Args:
        result: The columns of its result; None where it has none.
        errors: What a start would refuse.
    """

    result: StructType | None
    errors: tuple[TidemillError, ...]


def plan_without_rows(session: SparkSession, pipeline: Pipeline, tables: Tables) -> EmptyPlan:
    """Plan a pipeline; nothing is read and no server is asked.

    Args:
        tables: The tables of other pipelines that it reads as static inputs.
    """
    spec = pipeline.spec
    try:
        sources = {name: _source(session, pipeline, name) for name in spec.sources}
        statics = {name: _static(session, pipeline, name, tables) for name in spec.statics}
        if not spec.published:
            plan = ungated.plan_rows(sources, pipeline, Watch(), statics)
            return EmptyPlan(plan.table_schema, ())
        result = result_of(sources, pipeline, statics)
    except (TidemillError, PySparkException) as error:
        return EmptyPlan(None, (_ours(error),))
    errors = [*_refused(result_checks(result, pipeline))]
    if not errors:
        errors = [*_refused([lambda: plan_rows(sources, pipeline, statics)])]
    return EmptyPlan(result.schema, tuple(errors))


def _refused(checks: Iterable[Callable[[], object]]) -> Iterator[TidemillError]:
    for check in checks:
        try:
            check()
        except (TidemillError, PySparkException) as error:
            yield _ours(error)


def _ours(error: TidemillError | PySparkException) -> TidemillError:
    return error if isinstance(error, TidemillError) else from_spark(error)


def _source(session: SparkSession, pipeline: Pipeline, name: str) -> DataFrame:
    """The rows of a source in the shape of `SparkSource.stream`."""
    schema = spark_source(session, pipeline, name).schema()
    own = [StructField(added, StringType()) for added in (CORRUPT, ORIGIN)]
    return bare(session, name, StructType([*schema.fields, *own]))


def _static(session: SparkSession, pipeline: Pipeline, name: str, tables: Tables) -> DataFrame:
    static = pipeline.spec.statics[name]
    upstream = static.reads_pipeline
    schema = (
        schema_of(str(static.ddl), f"statics.{name}.schema")
        if upstream is None
        else tables[upstream]
    )
    return bare(session, name, schema, streaming=False)
