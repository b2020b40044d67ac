"""Bare inputs, for plans that are only analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.pipelines.analysed_plans import Inputs

COLUMNS = "id string, at timestamp, n int, m int, word string"


@pytest.fixture(scope="session")
def inputs(spark: SparkSession) -> Inputs:
    """Two streams and a static input."""
    from pyspark.sql.types import StructType

    from tests.support.pipelines.analysed_plans import Inputs
    from tidemill.engine.shape.transform_shape import bare

    events, answers = (
        bare(spark, name, StructType.fromDDL(COLUMNS)).withWatermark("at", "10 minutes")
        for name in ("events", "answers")
    )
    names = bare(spark, "names", StructType.fromDDL("id string, name string"), streaming=False)
    return Inputs(events, answers, names)
