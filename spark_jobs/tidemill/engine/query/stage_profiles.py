"""Stages with resources of their own: tasks may have them on a cluster, executors may not."""

from pathlib import Path

from pyspark.sql import DataFrame

from tidemill.contract.errors import SpecError
from tidemill.engine.spark_internals.plan import kind, nodes
from tidemill.engine.spark_internals.plan_outline import outlined

# Operators whose stage may have them -> the calls that make them.
MAPS = {"MapInPandas": "mapInPandas", "MapInArrow": "mapInArrow"}


class ProfileRefused(SpecError):
    """A stage asks for executors of its own; carries `expression`, the call that does."""


def refuse_own_executors(rows: DataFrame, path: Path) -> None:
    """Refuse a stage that asks for other executors, before its query starts.

    Raises:
        ProfileRefused: there is one.
    """
    for node in nodes(outlined(rows)):
        if kind(node) not in MAPS or node.profile().isEmpty():
            continue
        if kind(node.profile().get()) != "TaskResourceProfile":
            call = MAPS[kind(node)]
            raise ProfileRefused(
                f"{path}: the profile of {call} asks for executors of its own, which Spark starts "
                "with dynamic allocation alone. It is switched off, as it ends executors with the "
                "state that they hold.",
                remedy="Leave ExecutorResourceRequests out of the profile, and set "
                "spark.executor.* in spark.conf; TaskResourceRequests may stay.",
                path=path,
                field="transform",
                expression=call,
            )
