"""Every row of the matrix that says `run` has a test which fails unless a query of it starts."""

from __future__ import annotations

import pytest

from tests.e2e.matrix import (
    test_matrix,
    test_matrix_clearing,
    test_matrix_joins,
    test_matrix_queries,
)
from tests.support.pipelines.matrix_queries import MATRIX, all_run, label

MODULES = (test_matrix, test_matrix_clearing, test_matrix_joins, test_matrix_queries)


# A target starts no query; tests/publish/test_target_matrix.py publishes to each.
@pytest.mark.parametrize("section", sorted(MATRIX.keys() - {"targets"}))
def test_each_row_that_runs_has_a_test_that_runs_it(section: str) -> None:
    tests = [test for module in MODULES for test in vars(module).values() if callable(test)]
    run = {label(row) for test in tests for row in all_run(test)}
    assert {label(row) for row in MATRIX[section] if row["says"] == "run"} <= run
