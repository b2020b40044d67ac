"""Errors of the JVM in Python.

Relies on `convert_exception`, and on `_desc` and `_cause` of what it gives.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException, convert_exception

# PySpark hands some of Spark's errors on as py4j has them.
SPARK_ERRORS = (PySparkException, Py4JJavaError)
# Those that the JVM raised, and not PySpark itself.
JVM_ERRORS = (CapturedException, Py4JJavaError)
SparkError: TypeAlias = PySparkException | Py4JJavaError


def converted(error: SparkError) -> PySparkException:
    """An error with a condition and a SQLSTATE, where Spark gave it some."""
    return convert_exception(error.java_exception) if isinstance(error, Py4JJavaError) else error


def causes(error: PySparkException) -> Iterator[tuple[PySparkException, str]]:
    """An error and what it says, then the same of its cause, to the innermost."""
    link: Any = error
    while link is not None:
        yield link, getattr(link, "_desc", None) or str(link)
        link = getattr(link, "_cause", None)
