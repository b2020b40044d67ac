"""The classes of expectations, as Great Expectations has registered them."""

from collections.abc import Mapping
from typing import Any

from great_expectations.exceptions.exceptions import MetricProviderError
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.registry import get_expectation_impl, get_metric_provider

_REGISTRY = "great_expectations.expectations.registry"
_EXPECTATION = "great_expectations.expectations.expectation:Expectation"
_ENGINES = "great_expectations.execution_engine"
CALLS = {
    f"{_REGISTRY}:get_expectation_impl": ("expectation_name",),
    f"{_REGISTRY}:get_metric_provider": ("metric_name", "execution_engine"),
}
ATTRIBUTES = (
    "great_expectations.exceptions.exceptions:MetricProviderError",
    f"{_ENGINES}.pandas_execution_engine:PandasExecutionEngine",
    f"{_ENGINES}.sparkdf_execution_engine:SparkDFExecutionEngine",
    *(
        f"{_EXPECTATION}.{name}"
        for name in (
            "__fields__",
            "domain_keys",
            "expectation_type",
            "success_keys",
        )
    ),
    "great_expectations.expectations.expectation:BatchExpectation.metric_dependencies",
    "great_expectations.expectations.expectation:ColumnMapExpectation.map_metric",
    "great_expectations.compatibility.pydantic:fields.ModelField.default",
    "great_expectations.compatibility.pydantic:fields.ModelField.required",
)

ON_PANDAS: type[ExecutionEngine[Any]] = PandasExecutionEngine
ON_SPARK: type[ExecutionEngine[Any]] = SparkDFExecutionEngine
# What is asked of the metric of an expectation that looks at each row.
_COUNT = ".unexpected_count"
# What any expectation has; the rest of its fields are its arguments.
_NO_ARGUMENTS = frozenset(Expectation.__fields__)


def expectation_class(kind: str) -> Any:
    """The class of a type of expectation."""
    return get_expectation_impl(kind)


def type_of(kind: type) -> str:
    """The type that a class of expectation is of; '' for any other class."""
    return str(getattr(kind, "expectation_type", ""))


def arguments(kind: Any) -> Mapping[str, bool]:
    """Argument of a class of expectation -> whether it cannot do without it."""
    fields = kind.__fields__
    return {name: bool(fields[name].required) for name in fields if name not in _NO_ARGUMENTS}


def defaults(kind: Any) -> Mapping[str, Any]:
    """The values that a class gives to arguments of its metrics."""
    fields = kind.__fields__
    given = {
        name: fields[name].default
        for name in (*kind.domain_keys, *kind.success_keys)
        if name in fields
    }
    return {name: value for name, value in given.items() if value is not None}


def metrics(kind: Any) -> tuple[str, ...]:
    """The metrics that a class says it needs; one that asks for them in code says nothing."""
    mapped = getattr(kind, "map_metric", None)
    return (f"{mapped}{_COUNT}",) if mapped else tuple(kind.metric_dependencies)


def without_count(metric: str) -> str:
    """The name under which a metric of `metrics` is defined."""
    return metric.removesuffix(_COUNT)


def metric_provider(metric: str, engine: type[ExecutionEngine[Any]]) -> Any:
    """The class that computes a metric with an engine; None where none does."""
    # Only its class is looked at; a real one of Spark would start Spark.
    asked: Any = object.__new__(engine)
    try:
        return get_metric_provider(metric, asked)[0]
    except MetricProviderError:
        return None
