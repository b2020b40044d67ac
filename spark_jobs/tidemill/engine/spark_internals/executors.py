"""The executors of an application: how many cores they have, and which of them were lost.

Relies on `SparkContext.statusStore`, which Spark's own pages are made of, and on `startTime`.
"""

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tidemill.contract.report import LostExecutor
from tidemill.engine.spark_internals.plan import items

DRIVER = "driver"


def executor_cores(session: SparkSession) -> int:
    """The cores of the executors that serve the application now."""
    return sum(int(one.totalCores()) for one in _executors(session, active=True))


def first_executor_seconds(session: SparkSession) -> float:
    """How long after the start of the application the first executor came that serves it now.

    0 while there is none.
    """
    context: Any = session.sparkContext._jsc.sc()
    added = [one.addTime().getTime() for one in _executors(session, active=True)]
    return (min(added) - context.startTime()) / 1000 if added else 0.0


def lost_executors(session: SparkSession) -> tuple[LostExecutor, ...] | None:
    """The executors that ended before the application did, in the order of their ids.

    Returns:
        None where the driver's JVM has ended itself.
    """
    try:
        return _lost(session)
    except (Py4JError, OSError):
        return None


def _lost(session: SparkSession) -> tuple[LostExecutor, ...]:
    return tuple(
        LostExecutor(
            id=str(one.id()),
            host=str(one.hostPort()),
            reason=str(one.removeReason().get()) if one.removeReason().isDefined() else "",
            logs={str(log._1()): str(log._2()) for log in items(one.executorLogs().toSeq())},
        )
        for one in sorted(_executors(session, active=False), key=lambda one: int(one.id()))
        if not one.isActive()
    )


def _executors(session: SparkSession, *, active: bool) -> Iterator[Any]:
    context: Any = session.sparkContext._jsc.sc()
    for one in items(context.statusStore().executorList(active)):
        if one.id() != DRIVER:
            yield one
