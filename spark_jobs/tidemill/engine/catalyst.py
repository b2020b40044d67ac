"""Spark's analysed plan: the place where an arbitrary DataFrame function can be looked into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

LOGICAL = ("Project", "Filter", "WithCTE", "CTERelationDef", "CTERelationRef")


@dataclass(frozen=True)
class Catalyst:
    """The few classes of Spark's planner that a rewritten plan is made of."""

    session: SparkSession

    @property
    def jvm(self) -> Any:
        return self.session._jvm

    def __getattr__(self, name: str) -> Any:
        sql = self.jvm.org.apache.spark.sql
        if name in LOGICAL:
            return getattr(sql.catalyst.plans.logical, name)
        return getattr(sql.catalyst.expressions, name)

    def seq(self, items: list[Any]) -> Any:
        converters = self.jvm.scala.jdk.javaapi.CollectionConverters
        return converters.asScala(items).toSeq()

    def inlined(self, plan: Any) -> Any:
        """A plan with each common table expression in all its places."""
        inline = self.jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE
        return inline(True, False).apply(plan)

    def frame(self, plan: Any) -> DataFrame:
        dataset = self.jvm.org.apache.spark.sql.classic.Dataset
        return DataFrame(dataset.ofRows(self.session._jsparkSession, plan), self.session)


def analysed(frame: DataFrame) -> Any:
    """The plan with every name resolved."""
    return frame._jdf.queryExecution().analyzed()


def nodes(tree: Any) -> Iterator[Any]:
    """Every node of a plan, or of an expression, from the top."""
    yield tree
    for child in items(tree.children()):
        yield from nodes(child)


def items(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(position) for position in range(sequence.size())]


def kind(node: Any) -> str:
    """The class of a plan's node or expression, such as `Project`."""
    return str(node.getClass().getSimpleName())
