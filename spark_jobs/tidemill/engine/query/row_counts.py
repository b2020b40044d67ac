"""When Spark's counts of the rows that a batch reads do not hold.

Spark adds up what its tasks have counted (SPARK-58183). Rows that it reads again, it counts again:
to draw a sample of them for `repartitionByRange`, and to compute a stage whose output was lost.
"""

from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from tidemill.engine.spark_internals.plan import items, kind, nodes
from tidemill.engine.spark_internals.plan_outline import outlined


def reads_for_a_sample(transformed: DataFrame) -> bool:
    """Whether Spark reads the input once more, for a sample of what a transform makes of it."""
    return any(node.isStreaming() and _by_range(node) for node in nodes(outlined(transformed)))


def _by_range(node: Any) -> bool:
    if kind(node) != "RepartitionByExpression":
        return False
    return any(kind(one) == "SortOrder" for one in items(node.partitionExpressions()))


@dataclass
class StageAttempts:
    """Looks at the stages that a query's jobs are made of."""

    context: SparkContext
    _seen: set[int] = field(default_factory=set)

    def repeated(self, query: StreamingQuery) -> bool:
        """Whether a stage was computed again since the last call."""
        tracker = self.context.statusTracker()
        fresh = {*tracker.getJobIdsForGroup(str(query.runId))} - self._seen
        self._seen |= fresh
        jobs = (tracker.getJobInfo(job) for job in fresh)
        stages = {stage for job in jobs if job is not None for stage in job.stageIds}
        found = (tracker.getStageInfo(stage) for stage in stages)
        return any(stage is not None and stage.currentAttemptId > 0 for stage in found)
