"""A copy of a session in which a SELECT sees only its inputs.

Relies on `cloneSession`, `SessionCatalog.clearTempTables`, the function registry, and the logical
plans that the parser makes of a statement.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemill.engine.spark_internals.plan import analysed, items

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
# What changes something, or would be several statements.
NO_QUERIES = (
    f"{LOGICAL}.Command",
    f"{LOGICAL}.ParsedStatement",
    f"{LOGICAL}.CompoundPlanStatement",
)


class ScratchSession:
    """A copy of a session with the same settings, in which no view is known.

    Args:
        without: Built-in functions of Spark's that the copy does not have.
    """

    def __init__(self, session: SparkSession, without: Iterable[str]) -> None:
        jvm: Any = session._jvm
        self._jvm = jvm
        self._copy: Any = session._jsparkSession.cloneSession()
        self._copy.sessionState().catalog().clearTempTables()
        functions = self._copy.sessionState().functionRegistry()
        for name in without:
            # However a statement names it, it is not there.
            parts = (jvm.scala.Some(part) for part in ("builtin", "system"))
            catalyst = jvm.org.apache.spark.sql.catalyst
            functions.dropFunction(catalyst.FunctionIdentifier(name, *parts))
        # SELECT … FROM parquet.`/path` would read files that no pin covers.
        self._copy.conf().set("spark.sql.runSQLOnFiles", "false")

    def create_view(self, name: str, frame: DataFrame) -> None:
        """Let SQL name a DataFrame (`classic.Dataset.ofRows`, as plans know no session)."""
        dataset = self._jvm.org.apache.spark.sql.classic.Dataset
        dataset.ofRows(self._copy, analysed(frame)).createTempView(name)

    def command_in(self, text: str) -> str | None:
        """The name of what is not a query in a statement; it is parsed and not run."""
        kinds = [self._jvm.java.lang.Class.forName(name) for name in NO_QUERIES]
        for node in _all(self._copy.sessionState().sqlParser().parsePlan(text)):
            if any(kind.isInstance(node) for kind in kinds):
                return str(node.nodeName())
        return None

    def analysed(self, text: str) -> Any:
        """The analysed plan of a SELECT. A command would be carried out by this."""
        return self._copy.sql(text).queryExecution().analyzed()


def _all(plan: Any) -> Iterator[Any]:
    """Every node of a parsed plan: also those under WITH, which are not children."""
    yield plan
    for child in (*items(plan.children()), *items(plan.innerChildren())):
        yield from _all(child)
