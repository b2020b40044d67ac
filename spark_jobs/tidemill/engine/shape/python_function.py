"""The Python function behind an expression of a plan, which Spark holds pickled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle

from tidemill.engine.catalyst import Catalyst


def python_function(expression: Any, catalyst: Catalyst) -> Callable[..., Any] | None:
    """The function of a `PythonUDF`; None where it cannot be had: a large one is broadcast.

    Args:
        expression: The `PythonUDF`.
    """
    command = expression.func().command()
    content = command.toArray(catalyst.jvm.scala.reflect.ClassTag.Byte())
    try:
        function, *_ = cloudpickle.loads(bytes(content))
    except Exception:  # noqa: BLE001 (whatever the pickle needs, the worker has it)
        return None
    return function if callable(function) else None
