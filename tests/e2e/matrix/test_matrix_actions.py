"""Asking a stream for its rows is refused with the line that does, row by row of the matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from tests.support.pipelines.matrix_queries import Streams, rows_of
from tests.support.spec_text import minimal, parse
from tidemill.engine.query.transform import TransformRefused, apply, load_transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTIONS = {
    "count": "rows.count()",
    "show": "rows.show()",
    "collect": "rows.collect()",
    "first": "rows.first()",
    "take": "rows.take(1)",
    "isEmpty": "rows.isEmpty()",
    "toPandas": "rows.toPandas()",
    "foreach": "rows.foreach(print)",
    "foreachPartition": "rows.foreachPartition(print)",
    "rdd": "rows.rdd",
    "cache": "rows.cache()",
    "write": "rows.write.format('noop').mode('append').save()",
    "subquery": "rows.sparkSession.sql('SELECT (SELECT max(n) FROM {rows})', rows=rows)",
    "pivot-without-values": "rows.groupBy('id').pivot('n').count()",
}


@rows_of("actions")
def test_an_action_is_refused_with_its_line(
    row: dict[str, Any], tmp_path: Path, spark: SparkSession
) -> None:
    assert (row["says"], row["by"]) == ("refuse", "spark")
    rows = Streams(spark, tmp_path).rows()
    path = tmp_path / "orders.py"
    path.write_text(
        f"def transform(rows):\n    found = {ACTIONS[row['action']]}\n    return rows\n"
    )
    transform = load_transform(path)
    with pytest.raises(AnalysisException):
        transform(rows)
    with pytest.raises(TransformRefused) as error:
        apply(transform, {"orders": rows}, parse(minimal()), path)
    assert (error.value.path, error.value.line, error.value.field) == (path, 2, "transform")
