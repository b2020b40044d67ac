"""The active session of a JVM thread.

Relies on `SparkSession.setActiveSession`, for which PySpark has no method.
"""

from typing import Any

from pyspark.sql import SparkSession


def activate(session: SparkSession) -> None:
    """Make a session the active one of this thread."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
