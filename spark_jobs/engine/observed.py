"""Metrics of a pipeline's own: aggregates over the transform's result, a value each per batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

OBSERVED = "tidemill_observed"


def observed(result: DataFrame, metrics: Mapping[str, str]) -> DataFrame:
    """The same rows, over which metrics are computed as they pass.

    Args:
        result: Of the transform.
        metrics: Name -> an aggregate in SQL.

    Raises:
        PySparkException: Spark takes one of them for no aggregate of these columns.
    """
    if not metrics:
        return result
    return result.observe(OBSERVED, *[F.expr(sql).alias(name) for name, sql in metrics.items()])


def as_values(row: Row) -> dict[str, Any]:
    """The metrics of a batch as plain data: what JSON has no type for goes as text."""
    return {name: _plain(value) for name, value in row.asDict(recursive=True).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
