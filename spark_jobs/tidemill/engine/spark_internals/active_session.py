"""The active session of a JVM thread.

Relies on `SparkSession.setActiveSession`, for which PySpark has no method, and on
`SparkContext._gateway`, which keeps this process's connection to a JVM.
"""

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def activate(session: SparkSession) -> None:
    """Make a session the active one of this thread."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)


def has_jvm() -> bool:
    """Whether this process has a JVM already."""
    return SparkContext._gateway is not None
