"""Fixtures of the whole-run tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pipelines.matrix_queries import STARTED, Starts, all_run, label
from tests.support.pipelines.orders_pipeline import OrdersPipeline


@pytest.fixture
def mill(tmp_path: Path) -> OrdersPipeline:
    return OrdersPipeline(tmp_path)


@pytest.fixture(autouse=True)
def what_runs_starts_a_query(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test of the rows of the matrix that say `run` fails if no query has started for its row."""
    if not all_run(getattr(request, "function", None)):
        yield
        return
    row = request.getfixturevalue("row")
    spark = request.getfixturevalue("spark")
    starts = Starts(row)
    spark.streams.addListener(starts)
    yield
    spark.streams.removeListener(starts)
    assert label(row) in STARTED, "the matrix says that this row runs, and no query of it started"
