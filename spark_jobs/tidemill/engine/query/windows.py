"""Reads the windows of a transform from its plan."""

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from tidemill.contract.errors import Refused
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes
from tidemill.ledger.windows import Windows

# How `window` looks once it is analysed (`TimeWindowResolution`): the start of the last window is
# `at - (at - offset) % slide`, its end is that plus the length.
_STEP = re.compile(r"- (-?\d+)\) % (\d+)\)")
_LENGTH = re.compile(r"- 0\) \+ (\d+)\), LongType, Timestamp")
_WINDOW = "named_struct(start, knownnullable(precisetimestampconversion("


class WindowsUnknown(Refused):
    """A plan has windows of unknown length; carries `expression`."""


def windows_of(transformed: DataFrame) -> list[Windows]:
    """The windows of a transform's result, from the source on.

    Raises:
        WindowsUnknown: Spark prints them otherwise than the version that this was written for.
    """
    windows = []
    for node in nodes(analysed(transformed)):
        for expression in _columns(node):
            if not expression.startswith(_WINDOW):
                continue
            length, step = _LENGTH.search(expression), _STEP.search(expression)
            if length is None or step is None:
                raise WindowsUnknown(
                    f"The length of these windows is unknown: {expression[:200]}",
                    remedy="Report it with your version of Spark.",
                    expression=expression,
                )
            windows.append(Windows(length=int(length[1]), slide=int(step[2]), offset=int(step[1])))
    return windows[::-1]


def _columns(node: Any) -> Iterator[str]:
    """The computed columns of a plan's node, as Spark prints them."""
    columns: list[Any] = []
    if kind(node) == "Project":
        columns = [
            expression for expression in items(node.projectList()) if kind(expression) == "Alias"
        ]
    elif kind(node) == "Expand":
        # Overlapping windows have a projection each; all have the same length.
        columns = items(node.projections().apply(0))
    yield from (str(column.toString()) for column in columns)
