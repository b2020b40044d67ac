"""What is asked of a schema registry, what is kept of its answers, and what it cannot answer."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import fastavro
import pytest

from tests.servers.schema_registry import SchemaRegistry as Server
from tests.support.protobuf_schemas import enum, message, schema
from tidemill.contract.connections.schema_registry import RegistryAddress
from tidemill.contract.layout import Layout
from tidemill.sources.kafka.schema_registry import (
    MAIN_FILE,
    RegistryRefuses,
    RegistryUnreachable,
    SchemaRegistry,
    open_registry,
)
from tidemill.sources.kafka.writer_schemas import (
    MOST_UNKNOWN,
    RegistryChanged,
    ValuesNotFramed,
    WriterSchemas,
    subjects_of,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
WIDER = {**ORDER, "fields": [*ORDER["fields"], {"name": "n", "type": "int", "default": 0}]}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().up() as server:
        yield server


def client(server: Server) -> SchemaRegistry:
    return open_registry("schemas", {"AIRFLOW_CONN_SCHEMAS": server.connection})


@pytest.fixture
def schemas(tmp_path: Path) -> WriterSchemas:
    return WriterSchemas(Layout(tmp_path, "orders"), "schemas", lambda: NOW)


def test_every_version_of_a_subject_is_kept_by_its_id(
    server: Server, schemas: WriterSchemas
) -> None:
    first, second = server.register("orders-value", ORDER), server.register("orders-value", WIDER)
    with client(server) as registry:
        schemas.follow(registry, subjects_of(["orders", "a topic without a subject"]))
    kept = schemas.kept()
    assert [*kept] == [first, second]
    assert (kept[second].subject, kept[second].version) == ("orders-value", 2)
    assert json.loads(str(kept[second].text)) == WIDER
    server.forget_subject("orders-value")
    with client(server) as registry:
        schemas.follow(registry, ["orders-value"])
    assert schemas.kept() == kept


def test_an_id_that_was_unknown_stays_so_and_is_refused_once_it_is_known(
    server: Server, schemas: WriterSchemas
) -> None:
    known = server.register("of.another.strategy", ORDER)
    with client(server) as registry:
        schemas.ask(registry, [known, 7])
        assert {n: one.subject for n, one in schemas.kept().items()} == {
            known: "of.another.strategy",
            7: None,
        }
        assert schemas.kept()[7].text is None
        schemas.follow(registry, [])
        server.register("of.another.strategy", WIDER, schema_id=7)
        with pytest.raises(RegistryChanged) as refusal:
            schemas.follow(registry, [])
    assert refusal.value.schema_id == 7
    assert schemas.kept()[7].text is None


def test_types_of_other_subjects_are_part_of_a_kept_schema(
    server: Server, schemas: WriterSchemas
) -> None:
    country = {"type": "enum", "name": "Country", "namespace": "shop", "symbols": ["FR", "DE"]}
    address = {
        "type": "record",
        "name": "Address",
        "namespace": "shop",
        "fields": [{"name": "country", "type": "shop.Country"}],
    }
    order = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "from", "type": "Address"}, {"name": "to", "type": "shop.Address"}],
    }
    server.register("country", country)
    server.register("address", address, references=[("shop.Country", "country", 1)])
    number = server.register("orders-value", order, references=[("shop.Address", "address", 1)])
    with client(server) as registry:
        schemas.ask(registry, [number])
    whole = json.loads(str(schemas.kept()[number].text))
    row = {"from": {"country": "FR"}, "to": {"country": "DE"}}
    parsed = fastavro.parse_schema(whole)
    assert fastavro.validate(row, parsed)
    assert not fastavro.validate({**row, "to": {"country": "X"}}, parsed, raise_errors=False)
    assert json.dumps(whole).count('"symbols"') == 1


def test_protobuf_is_kept_compiled_with_the_files_that_it_imports(
    server: Server, schemas: WriterSchemas
) -> None:
    country = schema(enum("Country", "FR", "DE"))
    address = schema(message("Address", country="shop.Country"), imports=["shop/country.proto"])
    order = schema(message("Order", to="shop.Address"), imports=["shop/address.proto"])
    for subject, file, references in (
        ("country", country, []),
        ("address", address, [("shop/country.proto", "country", 1)]),
        ("orders-value", order, [("shop/address.proto", "address", 1)]),
    ):
        server.register(subject, file, kind="PROTOBUF", references=references)
    with client(server) as registry:
        schemas.follow(registry, ["orders-value"])
        schemas.follow(registry, ["orders-value"])

    (kept,) = schemas.kept().values()
    files = {n: b64decode(one) for n, one in json.loads(str(kept.text)).items()}
    expected = {"shop/address.proto": address, "shop/country.proto": country, MAIN_FILE: order}
    assert kept.kind == "PROTOBUF"
    assert files == {name: file.SerializeToString() for name, file in expected.items()}


def test_a_registry_that_cannot_compile_protobuf_is_refused(server: Server) -> None:
    number = server.register("orders-value", schema(message("Order", id="string")), kind="PROTOBUF")
    server.compiles = False
    with client(server) as registry, pytest.raises(RegistryRefuses) as refusal:
        registry.schema(number)
    assert refusal.value.url == server.url


def test_a_registry_that_was_set_up_again_is_refused(
    server: Server, schemas: WriterSchemas
) -> None:
    number = server.register("orders-value", ORDER)
    with client(server) as registry:
        schemas.follow(registry, ["orders-value"])
    with Server().up() as other:
        other.register("orders-value", WIDER, schema_id=number)
        with client(other) as registry, pytest.raises(RegistryChanged) as refusal:
            schemas.follow(registry, ["orders-value"])
    assert refusal.value.schema_id == number
    assert json.loads(str(schemas.kept()[number].text)) == ORDER


def test_values_without_a_frame_are_told_from_a_few_that_are_broken(
    server: Server, schemas: WriterSchemas
) -> None:
    with client(server) as registry:
        with pytest.raises(ValuesNotFramed) as refusal:
            schemas.ask(registry, range(MOST_UNKNOWN))
        assert refusal.value.conn_id == "schemas"
        assert schemas.kept() == {}
        server.register("orders-value", ORDER, schema_id=5)
        schemas.ask(registry, range(MOST_UNKNOWN))
    assert len(schemas.kept()) == MOST_UNKNOWN


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_registry_that_cannot_answer_now_is_asked_by_the_next_try(
    server: Server, status: int
) -> None:
    server.status = status
    with client(server) as registry, pytest.raises(RegistryUnreachable) as error:
        registry.schema(1)
    assert (error.value.transient, error.value.url) == (True, server.url)


def test_a_registry_that_is_down_is_asked_by_the_next_try() -> None:
    with client(Server()) as registry, pytest.raises(RegistryUnreachable):
        registry.schema(1)


def test_a_refused_login_and_a_wrong_address_are_no_unknown_id(server: Server) -> None:
    stranger = SchemaRegistry(RegistryAddress(server.url, ("mill", "wrong")))
    with stranger, pytest.raises(RegistryRefuses) as refusal:
        stranger.schema(1)
    assert "wrong" not in str(refusal.value)
    login = ("mill", "a secret of the registry")
    elsewhere = SchemaRegistry(RegistryAddress(f"{server.url}/api", login))
    with elsewhere, pytest.raises(RegistryRefuses) as refusal:
        elsewhere.schema(1)
    assert refusal.value.url == f"{server.url}/api"
