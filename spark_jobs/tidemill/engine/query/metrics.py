"""The metrics under `observe`: aggregates over the transform's result, one value per batch."""

from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tidemill.contract.errors import SpecError
from tidemill.spec.pipeline import Pipeline

OBSERVED = "tidemill_observed"


class MetricRefused(SpecError):
    """Spark takes a metric for no aggregate over the result; carries `metric` and `condition`."""


def observed(result: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The same rows, over which the spec's metrics are computed as they pass.

    Raises:
        MetricRefused: one of them is not an aggregate of the result's columns.
    """
    metrics = pipeline.spec.observe
    if not metrics:
        return result
    for name, sql in metrics.items():
        try:
            result.observe(OBSERVED, F.expr(sql).alias(name))
        except (AnalysisException, ParseException) as error:
            message = " ".join(str(error).split(";")[0].split("\n\n")[0].split())
            raise MetricRefused(
                f"{pipeline.spec_file}: observe.{name} is refused by Spark: {message}",
                remedy="Write an aggregate over the transform's columns, such as sum(price).",
                path=pipeline.spec_file,
                field=f"observe.{name}",
                metric=name,
                condition=error.getCondition(),
            ) from error
    return result.observe(OBSERVED, *[F.expr(sql).alias(name) for name, sql in metrics.items()])


def as_values(row: Row) -> dict[str, Any]:
    """The metrics of a batch as plain data.

    A query's report holds them as JSON does: a decimal is a number, a time is a text. Whoever needs
    each digit casts to string.
    """
    return row.asDict(recursive=True)
