"""Connections come from Airflow's own variables, and never show their secrets."""

from __future__ import annotations

import json

import pytest

from tidemill.contract.connections.airflow import (
    Connection,
    ConnectionMissing,
    ConnectionUnreadable,
    connection,
    variable,
)

URI = "postgres://ann%40home:p%40ss%3Aword@db.example:5433/ware%20house?sslmode=require"
JSON = json.dumps(
    {
        "conn_type": "postgres",
        "login": "ann@home",
        "password": "p@ss:word",
        "host": "db.example",
        "port": 5433,
        "schema": "ware house",
        "extra": {"sslmode": "require"},
    }
)


@pytest.mark.parametrize("text", [URI, JSON, f"  {JSON}\n"])
def test_a_uri_and_json_say_the_same(text: str) -> None:
    found = connection("warehouse", {"AIRFLOW_CONN_WAREHOUSE": text})
    assert (found.conn_type, found.host, found.port) == ("postgres", "db.example", 5433)
    assert (found.login, found.schema_) == ("ann@home", "ware house")
    assert found.password is not None
    assert found.password.get_secret_value() == "p@ss:word"
    assert found.settings == {"sslmode": "require"}


@pytest.mark.parametrize("extra", [{"a.b": 1, "c": {"d": True}}, '{"a.b": 1, "c": {"d": true}}'])
def test_an_extra_may_be_an_object_or_its_text(extra: object) -> None:
    text = json.dumps({"conn_type": "kafka", "extra": extra})
    assert connection("k", {"AIRFLOW_CONN_K": text}).settings == {"a.b": 1, "c": {"d": True}}


def test_the_extra_of_a_uri_that_airflow_wrote_is_read() -> None:
    text = "kafka://?__extra__=%7B%22bootstrap.servers%22%3A+%22h%3A9092%22%7D"
    assert connection("k", {"AIRFLOW_CONN_K": text}).settings == {"bootstrap.servers": "h:9092"}


def test_secrets_are_in_no_text_of_a_connection() -> None:
    found = connection("warehouse", {"AIRFLOW_CONN_WAREHOUSE": URI})
    for text in (repr(found), str(found), found.model_dump_json(), str(found.model_dump())):
        assert "p@ss" not in text
        assert "require" not in text


@pytest.mark.parametrize("environ", [{}, {"AIRFLOW_CONN_WAREHOUSE": " "}])
def test_a_missing_connection_is_named_with_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConnectionMissing) as missing:
        connection("warehouse", environ)
    assert missing.value.conn_id == "warehouse"
    assert variable("warehouse") in missing.value.remedy


@pytest.mark.parametrize("text", ['{"password": "canary"', '{"password": "canary"}', "a://b:c:d"])
def test_an_unreadable_connection_is_named_and_not_shown(text: str) -> None:
    with pytest.raises(ConnectionUnreadable) as unreadable:
        connection("warehouse", {"AIRFLOW_CONN_WAREHOUSE": text})
    assert "canary" not in str(unreadable.value.as_dict())
    assert unreadable.value.__cause__ is None


def test_a_connection_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Connection(conn_type="kafka").host = "other"  # type: ignore[misc]
