"""The level of one of Spark's loggers.

Relies on Log4j's `Configurator`, and on the names of Spark's loggers.
"""

from typing import Any

from pyspark.sql import SparkSession


def hush(session: SparkSession, logger: str) -> None:
    """Let a logger of the JVM say errors only.

    Args:
        logger: The name of a class.
    """
    jvm: Any = session._jvm
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.ERROR)
