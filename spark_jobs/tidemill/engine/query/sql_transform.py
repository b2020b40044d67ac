"""A transform in SQL: one SELECT over views that are named like the sources and static inputs.

The views are made in a copy of the session that nothing else uses, so that no other pipeline of the
process meets them, and the SELECT meets no view or table but its own inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.sql_text import RUN_JAVA, java_call
from tidemill.engine.catalyst import Catalyst, analysed, items

PLACE = re.compile(r"\(?\bline (\d+),? pos (\d+)\)?")
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
# What changes something, or would be several statements.
NO_QUERIES = (
    f"{LOGICAL}.Command",
    f"{LOGICAL}.ParsedStatement",
    f"{LOGICAL}.CompoundPlanStatement",
)

# What Spark says of a function that the session does not have; the second of its whole name.
NO_FUNCTION = ("UNRESOLVED_ROUTINE", "REQUIRES_SINGLE_PART_NAMESPACE")


class SqlRefused(SpecError):
    """A SELECT that Spark cannot make a plan of; carries `path`, `line` and `condition`."""


@dataclass(frozen=True)
class SqlTransform:
    """What a file of SQL makes of its inputs.

    Args:
        path: Its file.
    """

    path: Path

    def __call__(self, **inputs: DataFrame) -> DataFrame:
        """The SELECT's rows.

        Raises:
            SqlRefused: it is no SELECT, or Spark refuses it.
        """
        session = next(iter(inputs.values())).sparkSession
        catalyst, scratch = Catalyst(session), _copy_of(session)
        dataset = catalyst.jvm.org.apache.spark.sql.classic.Dataset
        for name, frame in inputs.items():
            dataset.ofRows(scratch, analysed(frame)).createTempView(name)
        text = self.path.read_text(encoding="utf-8")
        try:
            self._refuse_other_than_a_query(catalyst.jvm, scratch, text)
            plan = scratch.sql(text).queryExecution().analyzed()
            return catalyst.frame(_plain(plan, catalyst))
        except PySparkException as error:
            raise self._refused(error, text, [*inputs]) from error

    def _refuse_other_than_a_query(self, jvm: Any, scratch: Any, text: str) -> None:
        # Before it is run: Spark carries a command out as soon as it is asked about.
        plan = scratch.sessionState().sqlParser().parsePlan(text)
        kinds = [jvm.java.lang.Class.forName(name) for name in NO_QUERIES]
        for node in _all(plan):
            if any(kind.isInstance(node) for kind in kinds):
                raise SqlRefused(
                    f"{self.path}: the transform is no SELECT but a {node.nodeName()}.",
                    remedy="Write one SELECT over the views that are named like the sources.",
                    path=self.path,
                    line=None,
                    field="transform",
                    condition=None,
                )

    def _refused(self, error: PySparkException, text: str, views: list[str]) -> SqlRefused:
        said = " ".join(str(error).split("\n\n")[0].split("\n== SQL")[0].split())
        line = _line(error, text)
        place = f"{self.path}:{line}" if line else str(self.path)
        condition = error.getCondition()
        remedy = "Mend it."
        if condition in NO_FUNCTION and java_call(text) is not None:
            remedy = f"It may not call {java_call(text)}(), which could run any method of Java."
        if condition == "TABLE_OR_VIEW_NOT_FOUND":
            remedy = f"It can read {', '.join(views)}, and nothing else."
        return SqlRefused(
            f"{place}: Spark refuses the transform: {PLACE.sub('', said).strip(' ;')}",
            remedy=remedy,
            path=self.path,
            line=line,
            field="transform",
            condition=condition,
        )


def _copy_of(session: SparkSession) -> Any:
    """A session of the JVM's with the same settings, in which no view is known.

    Its functions are the same too, but for those that run Java.
    """
    copy: Any = session._jsparkSession.cloneSession()
    copy.sessionState().catalog().clearTempTables()
    for name in RUN_JAVA:
        _drop_function(copy, name)
    # SELECT … FROM parquet.`/path` would read what nobody has pinned.
    copy.conf().set("spark.sql.runSQLOnFiles", "false")
    return copy


def _drop_function(session: Any, name: str) -> None:
    """Take a function of Spark's own out of a session; however it is named, it is not there."""
    jvm: Any = SparkSession.active()._jvm
    parts = (jvm.scala.Some(part) for part in ("builtin", "system"))
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, *parts)
    session.sessionState().functionRegistry().dropFunction(identifier)


def _plain(plan: Any, catalyst: Catalyst) -> Any:
    """The same plan as a transform in Python gives it: without views and WITH."""
    analysis = catalyst.jvm.org.apache.spark.sql.catalyst.analysis
    views = getattr(getattr(analysis, "EliminateView$"), "MODULE$")
    return views.apply(catalyst.inlined(plan))


def _all(plan: Any) -> Iterator[Any]:
    """Every node of a parsed plan: also those under WITH, which are no children."""
    yield plan
    for child in (*items(plan.children()), *items(plan.innerChildren())):
        yield from _all(child)


def _line(error: PySparkException, text: str) -> int | None:
    """Where in the text, if Spark says so."""
    for context in error.getQueryContext():
        try:
            return text.count("\n", 0, context.startIndex()) + 1
        except PySparkException:
            continue
    place = PLACE.search(str(error))
    return int(place[1]) if place else None
