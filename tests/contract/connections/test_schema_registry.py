"""A schema registry's connection: the address in each way that Airflow writes it, and the login."""

from __future__ import annotations

import json

import pytest

from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.schema_registry import (
    RegistryAddress,
    RegistrySettingRefused,
    registry_address,
)


def address(text: str) -> RegistryAddress:
    environ = {"AIRFLOW_CONN_SCHEMAS": text}
    return registry_address("schemas", connection("schemas", environ))


@pytest.mark.parametrize(
    ("text", "url", "login"),
    [
        ("http://schemas:8081", "http://schemas:8081", None),
        ("http://mill:s%40fe@schemas:8081/https", "https://schemas:8081", ("mill", "s@fe")),
        (
            json.dumps({"conn_type": "http", "host": "https://schemas/api/", "login": "mill"}),
            "https://schemas/api",
            ("mill", ""),
        ),
        (
            json.dumps({"conn_type": "http", "host": "schemas", "port": 443, "schema": "https"}),
            "https://schemas:443",
            None,
        ),
    ],
)
def test_the_address_is_that_of_airflow_s_own_hook(
    text: str, url: str, login: tuple[str, str] | None
) -> None:
    assert address(text) == RegistryAddress(url, login)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"conn_type": "kafka", "host": "schemas"}, "conn_type"),
        ({"conn_type": "http"}, "host"),
        ({"conn_type": "http", "host": "http://mill:safe@schemas"}, "host"),
        ({"conn_type": "http", "host": "ftp://schemas"}, "schema"),
        ({"conn_type": "http", "host": "schemas", "password": "safe"}, "password"),
        ({"conn_type": "http", "host": "schemas", "extra": {"token": "safe"}}, "extra"),
    ],
)
def test_what_cannot_be_used_is_named_without_its_value(given: dict[str, str], key: str) -> None:
    with pytest.raises(RegistrySettingRefused) as refusal:
        address(json.dumps(given))
    assert (refusal.value.conn_id, refusal.value.key) == ("schemas", key)
    assert "safe" not in str(refusal.value)


def test_a_login_is_not_shown_with_the_address() -> None:
    assert "safe" not in repr(address("http://mill:safe@schemas:8081"))
