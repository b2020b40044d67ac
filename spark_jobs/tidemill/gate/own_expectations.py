"""The user's own expectations as classes, which Great Expectations knows once they are imported.

Importing this module imports Great Expectations, which costs seconds: only a suite that names one
of these expectations, and `judge()`, have it imported.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from great_expectations.exceptions.exceptions import MetricProviderError  # noqa: TID253
from great_expectations.execution_engine.pandas_execution_engine import (  # noqa: TID253
    PandasExecutionEngine,
)
from great_expectations.execution_engine.sparkdf_execution_engine import (  # noqa: TID253
    SparkDFExecutionEngine,
)
from great_expectations.expectations.expectation import Expectation as GxExpectation  # noqa: TID253
from great_expectations.expectations.registry import (  # noqa: TID253
    get_expectation_impl,
    get_metric_provider,
)

from tidemill.gate.columns import Column
from tidemill.gate.equivalence import EQUIVALENT, obstacle
from tidemill.gate.known_expectations import Arguments, known_expectations
from tidemill.gate.plugins import import_plugins
from tidemill.gate.suite import Expectation, Suite, SuiteError

_SHIPPED = "great_expectations."
# What is asked of the metric of an expectation that looks at each row.
_COUNT = ".unexpected_count"
# What any expectation has; the rest of its fields are its arguments.
_NO_ARGUMENTS = frozenset(GxExpectation.__fields__)


def import_own(suite: Suite) -> None:
    """Let Great Expectations know the expectations that a suite names and its project defines.

    Raises:
        SuiteError: their code does not load, or takes the name of one that is shipped.
    """
    if not suite.own:
        return
    shipped = {kind: get_expectation_impl(kind) for kind in known_expectations()}
    import_plugins(suite.project.plugins(), sorted(set(suite.own.values())))
    for kind, before in shipped.items():
        if get_expectation_impl(kind) is not before:
            path = next(iter(suite.own.values()))
            raise SuiteError(
                f"{path} redefines {kind}, which Great Expectations ships.",
                remedy="Give the class another name, and name that in the suite.",
                path=path,
                expectation=kind,
            )


def completed(suite: Suite) -> tuple[Expectation, ...]:
    """The expectations, those of the user's own with the arguments that their classes give."""
    return tuple(
        _completed(one, _class_of(one.type)) if one.type in suite.own else one
        for one in suite.expectations
    )


def arguments_of_own(kind: str) -> Arguments:
    """The arguments of an expectation that is imported."""
    fields = _class_of(kind).__fields__
    names = {name for name in fields if name not in _NO_ARGUMENTS}
    return Arguments(frozenset(names), frozenset(name for name in names if fields[name].required))


def lacks_on_spark(kind: str) -> str | None:
    """The metric that an imported expectation needs and Spark does not have; None where none."""
    lacks = _lacks(_class_of(kind), SparkDFExecutionEngine)
    return lacks and lacks.removesuffix(_COUNT)


def obstacle_of_own(
    suite: Suite, expectation: Expectation, columns: Mapping[str, Column]
) -> str | None:
    """As `equivalence.obstacle`, of an expectation of the user's own.

    One that narrows a shipped expectation is judged as that one. Metrics of the user's own for
    both engines are taken to agree: their author wrote both.

    Raises:
        SuiteError: its code does not load.
    """
    import_own(suite)
    kind = _class_of(expectation.type)
    metrics = _metrics(kind)
    missing = _lacks(kind, PandasExecutionEngine)
    if not metrics or missing:
        return f"{expectation.type} has no metric for pandas"
    said = _completed(expectation, kind)
    narrowed = _narrowed(kind)
    if narrowed is not None:
        return obstacle(said, columns, like=narrowed)
    return obstacle(said, columns, vouched=all(map(_is_own, metrics)))


def _class_of(kind: str) -> Any:
    return get_expectation_impl(kind)


def _completed(expectation: Expectation, kind: Any) -> Expectation:
    given = {
        name: kind.__fields__[name].default
        for name in (*kind.domain_keys, *kind.success_keys)
        if name in kind.__fields__
    }
    defaults = {name: value for name, value in given.items() if value is not None}
    return replace(expectation, kwargs={**defaults, **expectation.kwargs})


def _metrics(kind: Any) -> tuple[str, ...]:
    """The metrics that it says it needs; one that asks for them in code says nothing."""
    mapped = getattr(kind, "map_metric", None)
    return (f"{mapped}{_COUNT}",) if mapped else tuple(kind.metric_dependencies)


def _lacks(kind: Any, engine: type[Any]) -> str | None:
    return next((name for name in _metrics(kind) if _provider(name, engine) is None), None)


def _provider(metric: str, engine: type[Any]) -> Any:
    # Only its class is looked at; a real one of Spark would start Spark.
    asked: Any = object.__new__(engine)
    try:
        return get_metric_provider(metric, asked)[0]
    except MetricProviderError:
        return None


def _is_own(metric: str) -> bool:
    provider = _provider(metric, PandasExecutionEngine)
    return not provider.__module__.startswith(_SHIPPED)


def _narrowed(kind: Any) -> str | None:
    """The shipped expectation of which it only gives arguments: it has the same metrics."""
    for above in kind.__mro__[1:]:
        shipped = getattr(above, "expectation_type", "")
        if shipped in EQUIVALENT and _metrics(above) == _metrics(kind):
            return str(shipped)
    return None
