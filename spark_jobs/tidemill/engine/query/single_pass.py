"""One pass over the source for good and rejected rows, where the transform allows it.

The transform sees good rows only, so the obvious plan reads and parses the source twice: once for
the good rows, once for the rejected ones. Where the transform is made of projections and filters
only, the same result comes from one pass: every computed expression and every filter is guarded by
"unless the row is rejected", and the rejection travels along. Any other transform (joins,
aggregates, Python UDFs, which run whatever guards them) gets the two passes.

This works on Catalyst's analysed plan, the only place where an arbitrary DataFrame function can be
looked into; a test holds both ways against each other.
"""

from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.plan import analysed, items, kind
from tidemill.file_formats.reader import REJECT
from tidemill.ledger.batch import RowsPerRow

PASSED_THROUGH = {"SubqueryAlias"}
UNGUARDABLE = ("UDF", "Subquery", "Window", "Generator", "AggregateExpression", "PythonFunction")


def one_pass(tagged: DataFrame, good: DataFrame, transformed: DataFrame) -> DataFrame | None:
    """The transform's rows and the rejected ones in one pass.

    Args:
        tagged: The source's rows with `_reject`.
        good: Those of `tagged` that the transform was given.
        transformed: What it made of them.

    Returns:
        The transform's columns (null for a rejected row) and `_reject`; None where the transform is
        not made of projections and filters only.
    """
    steps = _steps(analysed(transformed), analysed(good))
    if steps is None or not all(_guardable(step) for step in steps):
        return None
    catalyst = Catalyst(tagged.sparkSession)
    reject = next(a for a in items(analysed(tagged).output()) if a.name() == REJECT)
    plan = analysed(tagged)
    for step in reversed(steps):
        plan = _guard(step, plan, reject, catalyst)
    new_id = catalyst.NamedExpression.newExprId
    output = [
        _unless_rejected(column, column.name(), new_id(), reject, catalyst)
        for column in items(analysed(transformed).output())
    ]
    return catalyst.frame(catalyst.Project(catalyst.seq([*output, reject]), plan))


def rows_per_row(good: DataFrame, transformed: DataFrame) -> RowsPerRow:
    """How many rows a transform makes of each row that it is given.

    Args:
        good: The rows that it was given.
        transformed: What it made of them.
    """
    steps = _steps(analysed(transformed), analysed(good))
    if steps is None:
        return "any"
    return "at_most_one" if any(kind(step) == "Filter" for step in steps) else "one"


def _steps(plan: Any, bottom: Any) -> list[Any] | None:
    """The projections and filters from the top of a plan down to another plan."""
    steps = []
    while not plan.fastEquals(bottom):
        name = kind(plan)
        if name in ("Project", "Filter"):
            steps.append(plan)
        elif name not in PASSED_THROUGH:
            return None
        plan = plan.child()
    return steps


def _guardable(step: Any) -> bool:
    return all(_deterministic_scalar(expression) for expression in items(step.expressions()))


def _deterministic_scalar(expression: Any) -> bool:
    if not expression.deterministic() or any(word in kind(expression) for word in UNGUARDABLE):
        return False
    return all(_deterministic_scalar(child) for child in items(expression.children()))


def _guard(step: Any, child: Any, reject: Any, catalyst: Catalyst) -> Any:
    is_good = catalyst.IsNull(reject)
    if kind(step) == "Filter":
        true = catalyst.Literal.TrueLiteral()
        return catalyst.Filter(catalyst.If(is_good, step.condition(), true), child)
    columns = []
    for column in items(step.projectList()):
        if kind(column) == "Alias":
            # The steps above refer to this column by its id.
            name, identity = column.name(), column.exprId()
            columns.append(_unless_rejected(column.child(), name, identity, reject, catalyst))
        else:
            columns.append(column)
    return catalyst.Project(catalyst.seq([*columns, reject]), child)


def _unless_rejected(
    expression: Any, name: str, identity: Any, reject: Any, catalyst: Catalyst
) -> Any:
    """The expression for a good row and null for a rejected one, as a named column."""
    null = catalyst.Literal(None, expression.dataType())
    value = catalyst.If(catalyst.IsNull(reject), expression, null)
    nothing = catalyst.seq([])
    return catalyst.Alias(value, name, identity, nothing, catalyst.none, nothing)
