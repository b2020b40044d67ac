"""A spec's schema in a file of its own: DDL, Avro, JSON Schema and Spark's JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.spec_text import MINIMAL
from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project
from tidemill.contract.syntax.ddl import column_comments
from tidemill.spec.load import load_spec
from tidemill.spec.schema_files.read import SchemaFileWrong

INLINE = "id string, amount decimal(10,2), at timestamp"
DDL = """
-- The feed of the shop; its columns, as agreed.
CREATE TABLE shop.orders (
  id string COMMENT 'who, and what', /* the key */
  `Größe.cm` decimal(10, 2) NOT NULL,
  tags array<struct<k: string, v: int>>,
  at timestamp COMMENT 'it\\'s when'
) USING delta;
"""
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string", "doc": "Who, and\nwhat's it"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "n", "type": ["int", "long", "null"]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "Kind"}, {"name": "b c", "type": "bytes"}],
                },
            },
        },
        {"name": "first", "type": ["null", "Line"]},
        {"name": "more", "type": {"type": "map", "values": "double"}},
        {"name": "either", "type": ["string", "int"]},
    ],
}
JSON_SCHEMA = {
    "$defs": {"money": {"type": "number"}},
    "type": "object",
    "properties": {
        "_id": {"type": "integer", "description": "The key."},
        "at": {"type": ["string", "null"], "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "total": {"$ref": "#/$defs/money"},
        "state": {"enum": ["new", "paid"]},
        "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
        },
        "more": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
SPARK = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "The key."}},
        {"name": "at", "type": "timestamp", "nullable": True, "metadata": {}},
        {
            "name": "tags",
            "type": {"type": "array", "elementType": "string", "containsNull": True},
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "by",
            "type": {
                "type": "map",
                "keyType": "string",
                "valueType": {
                    "type": "struct",
                    "fields": [{"name": "x", "type": "decimal(5,1)", "nullable": True}],
                },
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}


@pytest.fixture
def own(tmp_path: Path) -> Project:
    made = Project(tmp_path.resolve())
    made.specs.mkdir(parents=True)
    (made.home / "schemas").mkdir()
    return made


def written(own: Project, file: str, text: str, *, named: str | None = None) -> Path:
    """A spec whose schema is in a file of its project."""
    (own.home / file).write_text(text)
    path = own.spec("orders")
    given = json.dumps({"file": named or file})
    path.write_text(MINIMAL.replace(INLINE, given).replace("format: csv", "format: json"))
    return path


def schema_of(path: Path) -> str:
    found = load_spec(path, {}).sources["orders"].ddl
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("file", "text", "ddl", "comments"),
    [
        (
            "schemas/orders.sql",
            DDL,
            "id string COMMENT 'who, and what', `Größe.cm` decimal(10, 2) NOT NULL, "
            "tags array<struct<k: string, v: int>>, at timestamp COMMENT 'it\\'s when'",
            {"id": "who, and what", "at": "it's when"},
        ),
        ("orders.ddl", "id string,\n  at\ttimestamp\n", "id string, at timestamp", {}),
        (
            "orders.avsc",
            json.dumps(AVRO),
            "id string COMMENT 'Who, and what\\'s it', at timestamp, day date, n bigint, "
            "price decimal(9,2), kind string, lines array<struct<sku: string, `b c`: binary>>, "
            "first struct<sku: string, `b c`: binary>, more map<string, double>, "
            "either struct<member0: string, member1: int>",
            {"id": "Who, and what's it"},
        ),
        (
            "orders.json",
            json.dumps(JSON_SCHEMA),
            "_id bigint COMMENT 'The key.', at timestamp, day date, total double, state string, "
            "note string, lines array<struct<sku: string>>, more map<string, boolean>",
            {"_id": "The key."},
        ),
        (
            "orders.json",
            json.dumps(SPARK),
            "id long COMMENT 'The key.', at timestamp, tags array<string>, "
            "by map<string, struct<x: decimal(5,1)>>",
            {"id": "The key."},
        ),
    ],
)
def test_a_schema_is_read_from_a_file_of_the_project(
    own: Project, file: str, text: str, ddl: str, comments: dict[str, str]
) -> None:
    found = schema_of(written(own, file, text))
    assert (found, column_comments(found)) == (ddl, comments)


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("a.ddl", "id string,\nat timestamp,\n\n  n strin\n", 4),
        ("a.sql", "CREATE TABLE t (\n  id string,\n  größe int)", 3),
        ("a.sql", "CREATE TABLE t (id string", None),
        ("a.json", '{"type": "object",\n "properties": {"a": {"type": }}}', 2),
        ("a.json", '{"type": "object",\n"properties":\n{"a": {"type": ["string", "integer"]}}}', 3),
        ("a.json", '{"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}', 1),
        ("a.json", "[1]", None),
        ("a.avsc", '{"type": "record", "name": "r",\n"fields": [{"name": "a", "type": "no"}]}', 2),
        (
            "a.avsc",
            '{"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "record",'
            '\n"name": "s", "fields": [{"name": "again", "type": ["null", "s"]}]}}]}',
            2,
        ),
    ],
)
def test_a_mistake_in_a_schema_file_is_told_by_its_line(
    own: Project, file: str, text: str, line: int | None
) -> None:
    with pytest.raises(SchemaFileWrong) as wrong:
        load_spec(written(own, file, text), {})
    assert (wrong.value.path, wrong.value.line) == (own.home / file, line)


@pytest.mark.parametrize("named", ["../a.ddl", "/etc/a.ddl", "none.ddl", "a.txt"])
def test_a_file_that_is_not_a_schema_of_the_project_is_refused(own: Project, named: str) -> None:
    (own.home / "a.txt").write_text(INLINE)
    with pytest.raises(SpecError) as refused:
        load_spec(written(own, "a.ddl", INLINE, named=named), {})
    assert (refused.value.path, refused.value.field) == (
        own.spec("orders"),
        "sources.orders.schema.file",
    )


def test_a_changed_schema_file_is_another_spec(own: Project) -> None:
    path = written(own, "a.ddl", INLINE)
    before = load_spec(path, {})
    (own.home / "a.ddl").write_text(f"{INLINE}, more int")
    assert load_spec(path, {}) != before
    assert load_spec(path, {}).sources["orders"].columns == ("id", "amount", "at", "more")


def test_static_inputs_and_the_values_of_records_have_schemas_in_files_too(own: Project) -> None:
    written(own, "a.ddl", INLINE)
    (own.home / "a.avsc").write_text(json.dumps(AVRO))
    spec = own.spec("topics")
    spec.write_text(
        "sources:\n"
        "  plain: {kind: kafka, subscribe: a, value: {format: json, schema: {file: a.ddl}}}\n"
        "  framed: {kind: kafka, subscribe: b, value: {format: avro, schema: {file: a.avsc}}}\n"
        "statics:\n"
        "  prices: {kind: file, format: csv, path: /p, schema: {file: a.ddl}}\n"
    )
    found = load_spec(spec, {})
    assert found.sources["plain"].columns == ("id", "amount", "at")
    assert found.sources["framed"].columns[:2] == ("id", "at")
    assert found.statics["prices"].ddl == INLINE
