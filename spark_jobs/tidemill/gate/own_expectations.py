"""The user's own expectations as classes, which Great Expectations knows once they are imported.

Importing this module imports Great Expectations, which costs seconds: only a suite that names one
of these expectations, and `judge()`, have it imported.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidemill.gate.columns import Column
from tidemill.gate.equivalence import EQUIVALENT, obstacle
from tidemill.gate.gx_internals.expectation_class import (
    ON_PANDAS,
    ON_SPARK,
    arguments,
    defaults,
    expectation_class,
    metric_provider,
    metrics,
    type_of,
    without_count,
)
from tidemill.gate.gx_internals.known_expectations import Arguments, known_expectations
from tidemill.gate.plugins import import_plugins
from tidemill.gate.suite import Expectation, Suite, SuiteError

_SHIPPED = "great_expectations."


def import_own(suite: Suite) -> None:
    """Let Great Expectations know the expectations that a suite names and its project defines.

    Raises:
        SuiteError: their code does not load, or takes the name of one that is shipped.
    """
    if not suite.own:
        return
    shipped = {kind: expectation_class(kind) for kind in known_expectations()}
    import_plugins(suite.project.plugins(), sorted(set(suite.own.values())))
    for kind, before in shipped.items():
        if expectation_class(kind) is not before:
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
        _completed(one, expectation_class(one.type)) if one.type in suite.own else one
        for one in suite.expectations
    )


def arguments_of_own(kind: str) -> Arguments:
    """The arguments of an expectation that is imported."""
    known = arguments(expectation_class(kind))
    return Arguments(frozenset(known), frozenset(name for name in known if known[name]))


def lacks_on_spark(kind: str) -> str | None:
    """The metric that an imported expectation needs and Spark does not have; None where none."""
    lacks = _lacks(expectation_class(kind), ON_SPARK)
    return lacks and without_count(lacks)


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
    kind = expectation_class(expectation.type)
    needed = metrics(kind)
    if not needed or _lacks(kind, ON_PANDAS):
        return f"{expectation.type} has no metric for pandas"
    said = _completed(expectation, kind)
    narrowed = _narrowed(kind)
    if narrowed is not None:
        return obstacle(said, columns, like=narrowed)
    return obstacle(said, columns, vouched=all(map(_is_own, needed)))


def _completed(expectation: Expectation, kind: Any) -> Expectation:
    return replace(expectation, kwargs={**defaults(kind), **expectation.kwargs})


def _lacks(kind: Any, engine: type[Any]) -> str | None:
    return next((one for one in metrics(kind) if metric_provider(one, engine) is None), None)


def _is_own(metric: str) -> bool:
    return not metric_provider(metric, ON_PANDAS).__module__.startswith(_SHIPPED)


def _narrowed(kind: Any) -> str | None:
    """The shipped expectation of which it only gives arguments: it has the same metrics."""
    for above in kind.__mro__[1:]:
        if type_of(above) in EQUIVALENT and metrics(above) == metrics(kind):
            return type_of(above)
    return None
