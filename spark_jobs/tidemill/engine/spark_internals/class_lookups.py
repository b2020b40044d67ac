"""Keeps the JVM's classes that are asked for again and again while a query is planned.

To py4j every name is new: it asks the JVM for it, part by part, and each part that is a package is
looked for as a class in every jar first. So does PySpark for each function and each operator of a
column. What is kept here is found in this process.

Relies on py4j's `JVMView`, `JavaPackage` and `JavaClass`, which ask only for what they do not have
as an attribute, and on the names by which PySpark asks.
"""

from typing import Any

from pyspark.sql import SparkSession

SQL = "org.apache.spark.sql"
# Each with the static methods that are called most.
CLASSES = {
    f"{SQL}.functions": ("col", "lit", "when"),
    f"{SQL}.classic.Dataset": ("ofRows",),
    f"{SQL}.classic.SparkSession": ("getActiveSession",),
    f"{SQL}.catalyst.trees.PySparkCurrentOrigin": ("set", "clear"),
    f"{SQL}.catalyst.expressions.Literal": (),
    f"{SQL}.catalyst.plans.logical.Project": (),
    "org.apache.spark.api.python.PythonUtils": ("toSeq",),
    "java.util.UUID": (),
    "py4j.reflection.TypeUtil": ("isInstanceOf",),
    "scala.Option": ("empty",),
    "scala.jdk.javaapi.CollectionConverters": ("asScala", "asJava"),
}
# PySpark imports their packages, and leaves the packages out.
SHORT = ("functions", "PythonSQLUtils", "PythonUtils")


def keep_classes(session: SparkSession) -> None:
    """Look for these classes once, for this process and its JVM.

    Args:
        session: Any session of the JVM.
    """
    jvm: Any = session._jvm
    if SHORT[-1] in vars(jvm):
        return
    for name, methods in CLASSES.items():
        place = jvm
        for part in name.split("."):
            place = _kept(place, part)
        for method in methods:
            _kept(place, method)
        setattr(jvm, name, place)
    for name in SHORT:
        _kept(jvm, name)


def _kept(place: Any, name: str) -> Any:
    member = getattr(place, name)
    setattr(place, name, member)
    return member
