"""Static inputs in a spec: what they may say, and what they owe the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.spec.spec import Spec
from tidemill.spec.static_inputs import FileStatic, PostgresStatic, TableStatic
from tidemill.spec.stream_trigger import (
    TriggerUnsupported,
    parse_trigger,
    refuse_unsupported,
)
from tidemill.toolchain.spark_conf import jar_sets

FILES = {"kind": "file", "format": "csv", "path": "/in/customers", "schema": "id string"}
QUERY = {"kind": "postgres", "conn_id": "warehouse", "query": "SELECT 1", "schema": "id int"}
BUCKET = {"kind": "file", "format": "csv", "schema": "id string"}
FETCH = "{url: 's3://shop/ids', conn_id: lookups}"
TABLE = {"kind": "table", "pipeline": "customers"}


def spec_of(**statics: Mapping[str, Any]) -> Spec:
    text = "".join(f"  {name}: {_flow(one)}\n" for name, one in statics.items())
    return parse(minimal(f"statics:\n{text}"))


def _flow(static: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in static.items()) + "}"


def test_it_comes_from_files_a_table_or_a_database() -> None:
    spec = spec_of(files=FILES, table=TABLE, rows={**QUERY, "broadcast": "true"})
    kinds = [type(static) for static in spec.statics.values()]
    assert kinds == [FileStatic, TableStatic, PostgresStatic]
    assert [static.broadcast for static in spec.statics.values()] == [False, False, True]


def test_its_connection_is_one_of_the_specs() -> None:
    assert spec_of(rows=QUERY, table=TABLE).connections == ("warehouse",)


def test_files_in_a_bucket_are_named_by_fetch_in_place_of_a_path() -> None:
    spec = spec_of(files={**BUCKET, "fetch": FETCH})
    found = spec.statics["files"]
    assert isinstance(found, FileStatic)
    assert (found.place, spec.connections) == ("s3://shop/ids", ("lookups",))


def test_its_format_asks_for_jars() -> None:
    assert jar_sets(spec_of(files={**FILES, "format": "avro"})) == ("avro",)


@pytest.mark.parametrize(
    ("name", "static", "field"),
    [
        ("orders", TABLE, "statics.orders"),
        ("one", {**FILES, "path": "in/customers"}, "statics.one.path"),
        ("one", {**FILES, "schema": "'id string, ID int'"}, "statics.one.schema"),
        ("one", {**FILES, "schema": "_record string"}, "statics.one.schema"),
        ("one", {**FILES, "format": "text", "schema": "id int"}, "statics.one.schema"),
        ("one", {**FILES, "path": "'/in/{a'"}, "statics.one.path"),
        ("one", {**FILES, "options": "{mode: PERMISSIVE}"}, "statics.one.options.mode"),
        ("one", {**FILES, "options": "{basePath: /in}"}, "statics.one.options.basePath"),
        ("one", {**FILES, "options": "{inferSchema: true}"}, "statics.one.options.inferSchema"),
        ("one", BUCKET, "statics.one.path"),
        ("one", {**FILES, "fetch": FETCH}, "statics.one.path"),
        ("one", {**BUCKET, "fetch": "{url: /in/ids}"}, "statics.one.fetch.url"),
        ("one", {**BUCKET, "fetch": "{url: 's3://ids', clean: delete}"}, "statics.one.fetch.clean"),
        ("one", {**TABLE, "pipeline": "Customers"}, "statics.one.pipeline"),
        ("one", {**QUERY, "query": "''"}, "statics.one.query"),
        ("one", {**TABLE, "broadcasted": "true"}, "statics.one.broadcasted"),
    ],
)
def test_what_it_may_not_say_is_refused_at_its_place(
    name: str, static: Mapping[str, Any], field: str
) -> None:
    with pytest.raises(SpecError) as refused:
        spec_of(**{name: static})
    assert refused.value.field == field


def test_a_continuous_query_has_none() -> None:
    continuous = parse_trigger("continuous=1s")
    kafka = "sources: {records: {kind: kafka, subscribe: records, value: {format: text}}}\n"
    kafka += "sink: {kind: console}\n"
    refuse_unsupported(continuous, parse(kafka))
    with pytest.raises(TriggerUnsupported) as refused:
        refuse_unsupported(continuous, parse(f"{kafka}statics: {{ads: {_flow(TABLE)}}}\n"))
    assert refused.value.at == "statics"


@pytest.mark.parametrize(
    "more", ["listeners: [Mine]\n", "listeners: ['a/b:Mine']\n", "observe: {'a b': count(*)}\n"]
)
def test_listeners_and_metrics_have_names(more: str) -> None:
    with pytest.raises(SpecError):
        parse(minimal(more))


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError):
        spec_of(table=TABLE).statics["table"].pipeline = "other"  # type: ignore[union-attr]
