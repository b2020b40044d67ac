"""Columns of a Delta table as a Hive metastore takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tidemill.publish.hive.columns import LONGEST_COMMENT, hive_columns

STRUCT = {
    "type": "struct",
    "fields": [{"name": "a", "type": "integer"}, {"name": "b", "type": "decimal(10,2)"}],
}


def one_column(kind: Any, **metadata: str) -> dict[str, Any]:
    return {"fields": [{"name": "Id", "type": kind, "nullable": True, "metadata": metadata}]}


@pytest.mark.parametrize(
    ("delta", "hive"),
    [
        ("long", "bigint"),
        ("timestamp_ntz", "timestamp"),
        ("string", "string"),
        ({"type": "array", "elementType": "short"}, "array<smallint>"),
        (
            {"type": "map", "keyType": "string", "valueType": STRUCT},
            "map<string,struct<a:int,b:decimal(10,2)>>",
        ),
    ],
    ids=str,
)
def test_a_type_has_hives_name(delta: Any, hive: str) -> None:
    assert hive_columns(one_column(delta), {}) == [("id", hive, None)]


def test_a_comment_is_the_specs_or_the_tables_and_as_long_as_a_metastore_takes() -> None:
    table = one_column("long", comment="The key")
    assert hive_columns(table, {})[0][2] == "The key"
    assert hive_columns(table, {"Id": "x" * 999})[0][2] == "x" * LONGEST_COMMENT
