"""What `check` knows of Spark's SQL is what the installed Spark says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tidemill.contract.syntax.spark_functions import SPARK_FUNCTIONS
from tidemill.steps.read_only.checks.spark_sql import tree_of, unknown_functions

_EXAMPLE = re.compile(r"> (SELECT.*?);\s*$", re.MULTILINE | re.DOTALL | re.IGNORECASE)


@pytest.fixture(scope="module")
def shipped(spark: SparkSession) -> frozenset[str]:
    session = spark._jsparkSession.sessionState()
    names = []
    for registry in (session.functionRegistry(), session.tableFunctionRegistry()):
        each = registry.listFunction().iterator()
        while each.hasNext():
            names.append(each.next().funcName())
    return frozenset(name for name in names if re.fullmatch(r"\w+", name))


def test_the_list_of_functions_is_that_of_sparks_registry(shipped: frozenset[str]) -> None:
    assert shipped == SPARK_FUNCTIONS


def examples(spark: SparkSession, names: frozenset[str]) -> Iterator[str]:
    """The queries in the documentation that Spark has of its own functions."""
    for name in sorted(names):
        lines = spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        yield from _EXAMPLE.findall("\n".join(line[0] for line in lines))


def test_nothing_is_said_of_the_examples_in_sparks_own_documentation(
    spark: SparkSession, shipped: frozenset[str]
) -> None:
    queries = [*examples(spark, shipped)]
    assert len(queries) > 1000
    for sql in queries:
        tree = tree_of(sql)
        assert tree is None or [*unknown_functions(tree, sql)] == [], sql
