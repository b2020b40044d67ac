"""Building a Catalyst plan.

Relies on the constructors of a few logical plans, and on `Dataset.ofRows`.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Catalyst:
    """The few classes of Spark's planner that a rewritten plan is made of.

    An attribute is a class of `catalyst.plans.logical`.
    """

    session: SparkSession

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sql.catalyst.plans.logical, name)

    @property
    def _sql(self) -> Any:
        jvm: Any = self.session._jvm
        return jvm.org.apache.spark.sql

    @property
    def none(self) -> Any:
        """Scala's `None`."""
        jvm: Any = self.session._jvm
        return jvm.scala.Option.empty()

    def seq(self, items: list[Any]) -> Any:
        """A Scala sequence."""
        jvm: Any = self.session._jvm
        return jvm.scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq()

    def inlined(self, plan: Any) -> Any:
        """A plan with each common table expression in all its places (rule `InlineCTE`)."""
        return self._sql.catalyst.optimizer.InlineCTE(True, False).apply(plan)

    def without_views(self, plan: Any) -> Any:
        """A plan without nodes for the views that it reads (rule `EliminateView`)."""
        rule = getattr(self._sql.catalyst.analysis, "EliminateView$")
        return getattr(rule, "MODULE$").apply(plan)

    def frame(self, plan: Any) -> DataFrame:
        """The rows of a plan (`classic.Dataset.ofRows`)."""
        dataset = self._sql.classic.Dataset
        return DataFrame(dataset.ofRows(self.session._jsparkSession, plan), self.session)
