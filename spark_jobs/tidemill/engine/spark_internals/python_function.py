"""The Python functions in a plan, which Spark holds pickled.

Relies on `PythonUDF`, its tree pattern, and `PythonFunction.command`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.plan import items, kind, nodes


def python_udfs(session: SparkSession, node: Any) -> Iterator[Any]:
    """The `PythonUDF` expressions of a plan's node (`TreeNode.containsPattern`)."""
    jvm: Any = session._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()
    for top in items(node.expressions()):
        if top.containsPattern(pattern):
            yield from (one for one in nodes(top) if kind(one) == "PythonUDF")


def python_function(session: SparkSession, expression: Any) -> Callable[..., Any] | None:
    """The function of a `PythonUDF`; None where it cannot be had: a large one is broadcast."""
    jvm: Any = session._jvm
    content = expression.func().command().toArray(jvm.scala.reflect.ClassTag.Byte())
    try:
        function, *_ = cloudpickle.loads(bytes(content))
    except Exception:  # noqa: BLE001 (whatever the pickle needs, the worker has it)
        return None
    return function if callable(function) else None
