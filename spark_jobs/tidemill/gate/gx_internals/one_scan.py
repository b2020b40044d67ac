"""Great Expectations' engine on Spark, which scans the rows once for all that one scan can give.

Great Expectations computes metrics in rounds, each as soon as those that it depends on are there,
with an aggregation of its own for each round and each set of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext
from great_expectations.execution_engine.execution_engine import MetricComputationConfiguration
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.validator.metric_configuration import MetricConfiguration

from tidemill.gate.sample import Metric

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BASE = "great_expectations.execution_engine.execution_engine:ExecutionEngine"
_ENGINE = "great_expectations.execution_engine.sparkdf_execution_engine:SparkDFExecutionEngine"
_METRIC = "great_expectations.validator.metric_configuration:MetricConfiguration"
_COMPUTED = "great_expectations.execution_engine.execution_engine:MetricComputationConfiguration"
_SOURCE = "great_expectations.datasource.fluent.spark_datasource:SparkDatasource"
CALLS = {
    f"{_BASE}.resolve_metrics": ("metrics_to_resolve", "metrics", "runtime_configuration"),
    f"{_BASE}._build_direct_and_bundled_metric_computation_configurations": (
        "metrics_to_resolve=",
        "metrics=",
        "runtime_configuration=",
    ),
    f"{_BASE}._process_direct_and_bundled_metric_computation_configurations": (
        "metric_fn_direct_configurations=",
        "metric_fn_bundle_configurations=",
    ),
    _ENGINE: ("persist=", "spark="),
    f"{_ENGINE}.resolve_metric_bundle": ("metric_fn_bundle",),
    f"{_ENGINE}.get_domain_records": ("domain_kwargs",),
    f"{_SOURCE}.get_execution_engine": (),
    _METRIC: ("metric_name", "metric_domain_kwargs", "metric_value_kwargs"),
}
ATTRIBUTES = (
    f"{_SOURCE}._execution_engine",
    *(f"{_METRIC}.{name}" for name in ("id", "metric_name", "metric_domain_kwargs")),
    f"{_METRIC}.metric_value_kwargs",
    *(
        f"{_COMPUTED}.{name}"
        for name in ("metric_configuration", "metric_fn", "metric_provider_kwargs")
    ),
    f"{_COMPUTED}.compute_domain_kwargs",
)

# The arguments of a metric of all rows.
_OF_ALL_ROWS = {"batch_id", "column"}
_DISTINCT = "column.distinct_values.count"
_VALUES, _COUNT = ".unexpected_values", ".unexpected_count"


def batch_definition(
    context: AbstractDataContext, name: str, known: Mapping[Metric, Any]
) -> BatchDefinition[Any]:
    """A data source whose rows are scanned as seldom as can be.

    Args:
        context: What the data source is added to.
        name: The name of the data source.
        known: Metrics of all rows that need no scan.
    """
    # Without persist=False it would cache all rows and never let go of them.
    source = context.data_sources.add_spark(name, persist=False)
    plain = source.get_execution_engine()
    source._execution_engine = OneScan(plain, known)
    asset = source.add_dataframe_asset("increment")
    return asset.add_batch_definition_whole_dataframe("sealed")


class OneScan(SparkDFExecutionEngine):
    """Puts all aggregates off until nothing else is left to compute, and computes them at once.

    It remembers what it has computed, so that a second validation of the same rows, which asks for
    samples, does not count again.
    """

    def __init__(self, plain: SparkDFExecutionEngine, known: Mapping[Metric, Any]) -> None:
        super().__init__(persist=False, spark=plain.spark)
        self._known = known
        self._found: dict[Any, Any] = {}

    def resolve_metrics(
        self,
        metrics_to_resolve: Iterable[MetricConfiguration],
        metrics: Any = None,
        runtime_configuration: Any = None,
    ) -> dict[Any, Any]:
        """Some of the metrics; whatever is left out is asked for again in the next round."""
        asked = tuple(metrics_to_resolve)
        found = {one.id: self._found[one.id] for one in asked if one.id in self._found}
        for one in asked:
            key = _key(one)
            if key in self._known:
                found[one.id] = self._known[key]
            elif one.metric_name.endswith(_VALUES) and not _limit(one):
                found[one.id] = []
        if not found and asked:
            direct, together = self._build_direct_and_bundled_metric_computation_configurations(
                metrics_to_resolve=asked,
                metrics=metrics,
                runtime_configuration=runtime_configuration,
            )
            found = self._few_samples(direct)
            if not found:
                found = self._process_direct_and_bundled_metric_computation_configurations(
                    metric_fn_direct_configurations=direct,
                    metric_fn_bundle_configurations=[] if direct else together,
                )
        self._found |= found
        return found

    def resolve_metric_bundle(
        self, metric_fn_bundle: Iterable[MetricComputationConfiguration]
    ) -> dict[Any, Any]:
        """Aggregates, with one scan for all that are of the same rows.

        Distinct values are counted in a scan of their own: in one with other aggregates Spark
        would group all of those by the values, or repeat each row.
        """
        found: dict[Any, Any] = {}
        together = []
        for one in metric_fn_bundle:
            if one.metric_configuration.metric_name == _DISTINCT:
                found |= super().resolve_metric_bundle([one])
            else:
                together.append(one)
        return found | super().resolve_metric_bundle(together)

    def _few_samples(self, direct: Sequence[MetricComputationConfiguration]) -> dict[Any, Any]:
        """The failing values of expectations with so few that all are shown, in one scan.

        Where there are more, Great Expectations reads only up to the first of them.
        """
        from pyspark.sql import functions as F

        few = {one.metric_configuration.id: self._few(one) for one in direct}
        sought = {key: found for key, found in few.items() if found is not None}
        if len(sought) < 2:
            return {}
        frame: DataFrame = next(iter(sought.values()))[0]
        columns: list[Column] = []
        for number, (_, fails, column) in enumerate(sought.values()):
            columns += [F.coalesce(fails, F.lit(False)).alias(f"fails_{number}")]
            columns += [F.when(fails, F.col(column)).alias(f"value_{number}")]
        some = reduce(or_, (F.col(f"fails_{number}") for number in range(len(sought))))
        rows = frame.select(*columns).where(some).collect()
        return {
            key: [row[f"value_{number}"] for row in rows if row[f"fails_{number}"]]
            for number, key in enumerate(sought)
        }

    def _few(self, one: MetricComputationConfiguration) -> tuple[DataFrame, Column, str] | None:
        """All rows, the condition of failing ones, and their column; None where it is not so."""
        metric = one.metric_configuration
        name, rows = metric.metric_name, metric.metric_domain_kwargs
        if not name.endswith(_VALUES) or set(_given(rows)) != _OF_ALL_ROWS:
            return None
        values = dict(metric.metric_value_kwargs)
        del values["result_format"]
        limit = _limit(metric)
        count = MetricConfiguration(name.removesuffix(_VALUES) + _COUNT, rows, values)
        if self._found.get(count.id, limit + 1) > limit:
            return None
        fails, computed, accessed = one.metric_provider_kwargs["metrics"]["unexpected_condition"]
        if set(_given(computed)) != _OF_ALL_ROWS - {"column"}:
            # A condition over a window, which looks at some of the rows alone.
            return None
        return self.get_domain_records(computed), fails, accessed["column"]


def _key(metric: MetricConfiguration) -> Metric:
    """The metric, if it is one of all rows; nothing is known of any other."""
    given = _given(metric.metric_domain_kwargs)
    all_rows = set(given) <= _OF_ALL_ROWS
    return metric.metric_name if all_rows else "", given.get("column")


def _limit(samples: MetricConfiguration) -> int:
    """The most failing values that are asked for."""
    return int(samples.metric_value_kwargs["result_format"]["partial_unexpected_count"])


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
