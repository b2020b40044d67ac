"""Reading a Catalyst plan: the only place where an arbitrary DataFrame can be looked into.

Relies on `Dataset.queryExecution`, `SessionState.optimizer` and `TreeNode`.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

# The attribute under which the proxy of a node keeps it.
KIND = "_tidemill_kind"


def analysed(frame: DataFrame) -> Any:
    """The plan with every name resolved (`QueryExecution.analyzed`)."""
    return frame._jdf.queryExecution().analyzed()


def optimised(session: SparkSession, plan: Any) -> Any:
    """An analysed plan after the session's optimizer rules (`SessionState.optimizer`)."""
    return session._jsparkSession.sessionState().optimizer().execute(plan)


def explained(frame: DataFrame) -> str:
    """The extended plan, as `DataFrame.explain` prints it (`PythonSQLUtils.explainString`)."""
    jvm: Any = frame.sparkSession._jvm
    return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "extended"))


def nodes(tree: Any) -> Iterator[Any]:
    """Every node of a plan or an expression, from the top (`TreeNode.children`)."""
    yield tree
    for child in items(tree.children()):
        yield from nodes(child)


def items(sequence: Any) -> list[Any]:
    """A Scala sequence as a list, which a sequence of an outline is already."""
    if isinstance(sequence, list):
        return sequence
    return [sequence.apply(position) for position in range(sequence.size())]


def kind(node: Any) -> str:
    """The class of a plan's node or expression, such as `Project`."""
    # It is asked for several times, and a plan has hundreds of them.
    known: dict[str, str] = vars(node)
    if KIND not in known:
        known[KIND] = str(node.getClass().getSimpleName())
    return known[KIND]
