"""Columns that some place cannot hold are named, with what to select in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill.spec.column_types import Kind, Unfit, printed_table, unfit_columns

ROOT = Path(__file__).parents[2]


def struct(**fields: Kind) -> dict[str, Any]:
    some = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in fields.items()
    ]
    return {"type": "struct", "fields": some}


def array(kind: Kind) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": False}


def keyed(key: Kind, value: Kind) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": False}


def unfit(schema: dict[str, Any], format: str = "parquet", *targets: str) -> list[Unfit]:
    return [*unfit_columns(schema, format, targets or ("delta",))]


@pytest.mark.parametrize(
    ("kind", "column", "instead"),
    [
        ("void", "c", "CAST(c AS STRING)"),
        ("variant", "c", "to_json(c)"),
        ("interval day to second", "c", "CAST(c AS STRING)"),
        (array("void"), "c", "CAST(c AS ARRAY<STRING>)"),
        (keyed("void", "void"), "c", "MAP<STRING, STRING>"),
        (struct(a="void", b="integer"), "c.a", "CAST(c AS STRUCT<a: STRING, b: INTEGER>)"),
        (keyed("string", "timestamp_ntz"), "c", "CAST(c AS MAP<STRING, STRING>)"),
        (array(struct()), "c", "CAST(c AS ARRAY<STRING>)"),
        ({"type": "udt", "class": "x.Y"}, "c", "its parts"),
        ("a type of a later Spark", "c", "CAST(c AS STRING)"),
    ],
    ids=str,
)
def test_a_type_is_refused_with_what_to_select(kind: Kind, column: str, instead: str) -> None:
    found = unfit(struct(id="long", c=kind))
    assert {one.column for one in found} == {column}
    assert instead in found[0].instead


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        ({"type": "struct", "fields": struct(id="long")["fields"] * 2}, "id"),
        (struct(id="long", ID="long"), "ID"),
        (struct(c=struct(a="long", A="long")), "c.A"),
        (struct(c=array(keyed("string", struct(a="long", A="long")))), "c.A"),
        (struct(**{"": "long"}), ""),
        (struct(c=struct(**{"": "long"})), "c."),
    ],
)
def test_names_that_readers_cannot_tell_apart_or_see_are_refused(
    schema: dict[str, Any], column: str
) -> None:
    assert [one.column for one in unfit(schema)] == [column]


def test_what_only_tables_cannot_hold_may_be_published_as_files() -> None:
    schema = struct(c="interval day to second")
    assert unfit(schema, "orc", "files") == []
    assert unfit(schema) != []


def test_odd_names_and_nested_types_are_carried() -> None:
    inner = struct(**{"two words": "long", "a.b": "decimal(38,38)"})
    schema = struct(**{"a,b;{}()=": keyed("date", array(inner)), "ü": "timestamp_ntz"})
    assert unfit(schema, "parquet", "delta", "postgres", "mariadb", "kafka") == []


def test_the_page_prints_the_table() -> None:
    assert printed_table() in (ROOT / "docs/reference/column-types.md").read_text()
