"""Partition folders whose value Spark cannot read in the type of their column."""

from __future__ import annotations

import pytest

from tidemill.contract.syntax.ddl import column_types
from tidemill.sources.files.partition_values import is_mistyped
from tidemill.spark_logs.partition_paths import NULL_PARTITION

# Type -> values that Spark 4.2 reads, and values at which it fails or which it makes others of.
VALUES = {
    "date": (("2026", "2026-3", "2026-3-1", "2026-03-01T10"), ("noon", "2026-13-01", "20260301")),
    "timestamp": (("2026-03-01 10%3A00",), ("noon", "1234567890", "2026-02-30")),
    "int": (("007", "-7"), ("x", "7.0", "9999999999")),
    "smallint": (("99",), ("99999",)),
    "double": (("1e3", "NaN", "Infinity", "0x1p3", "1d"), ("x", "1,5")),
    "decimal(5,2)": (("1.239", "1e2"), ("x", "99999")),
    "boolean": (("TRUE",), ("1", "yes")),
    "string": (("noon",), ()),
}


@pytest.mark.parametrize("ddl", VALUES)
def test_a_value_that_is_not_of_its_columns_type_is_told(ddl: str) -> None:
    kind = column_types(f"c {ddl}")["c"]
    read, failing = VALUES[ddl]
    assert [value for value in (*read, NULL_PARTITION) if is_mistyped(value, kind)] == []
    assert [value for value in failing if not is_mistyped(value, kind)] == []
