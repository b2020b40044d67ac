"""Airflow's connections to object stores, as settings of the client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidemill.contract.connections.airflow import Connection, connection, variable
from tidemill.contract.connections.object_stores import ObjectStoreSettingRefused, store_settings


def given(conn_type: str, extra: dict[str, Any], **fields: str) -> Connection:
    text = json.dumps({"conn_type": conn_type, "extra": json.dumps(extra), **fields})
    return connection("store", {variable("store"): text})


LOGIN = {"login": "who", "password": "secret"}


@pytest.mark.parametrize(
    ("found", "settings"),
    [
        (
            given(
                "aws", {"region_name": "eu-west-1", "endpoint_url": "https://s3.example"}, **LOGIN
            ),
            {
                "access_key_id": "who",
                "secret_access_key": "secret",
                "region": "eu-west-1",
                "endpoint": "https://s3.example",
            },
        ),
        (given("aws", {"region_name": "eu-west-1"}), {"region": "eu-west-1"}),
        (
            given("google_cloud_platform", {"keyfile_dict": {"type": "service_account"}}),
            {"service_account_key": '{"type": "service_account"}'},
        ),
        (
            given(
                "google_cloud_platform",
                {"extra__google_cloud_platform__key_path": "/etc/key.json"},
            ),
            {"service_account_path": "/etc/key.json"},
        ),
        (
            given(
                "google_cloud_platform",
                {"endpoint_url": "https://gcs.example", "is_anonymous": True, "project": "shop"},
            ),
            {"base_url": "https://gcs.example", "skip_signature": True},
        ),
        (
            given("wasb", {}, host="who.privatelink.blob.core.windows.net", **LOGIN),
            {
                "account_name": "who",
                "account_key": "secret",
                "endpoint": "https://who.privatelink.blob.core.windows.net",
            },
        ),
        (
            given("wasb", {"tenant_id": "home"}, host="https://shop.blob.core.windows.net/"),
            {
                "account_name": "shop",
                "endpoint": "https://shop.blob.core.windows.net",
                "tenant_id": "home",
            },
        ),
        (given("wasb", {}, host="who", **LOGIN), {"account_name": "who", "account_key": "secret"}),
        (given("wasb", {}, **LOGIN), {"account_name": "who", "account_key": "secret"}),
        (
            given("adls", {"tenant_id": "home"}, **LOGIN),
            {"client_id": "who", "client_secret": "secret", "tenant_id": "home"},
        ),
    ],
)
def test_a_connection_gives_the_settings_of_its_store(
    found: Connection, settings: dict[str, Any]
) -> None:
    assert store_settings(found) == settings


@pytest.mark.parametrize(
    ("found", "key"),
    [
        (given("postgres", {}), "conn_type"),
        (given("aws", {"role_arn": "arn:aws:iam::1:role/reader"}), "role_arn"),
    ],
)
def test_what_is_not_taken_is_named(found: Connection, key: str) -> None:
    with pytest.raises(ObjectStoreSettingRefused) as error:
        store_settings(found)
    assert error.value.key == key
