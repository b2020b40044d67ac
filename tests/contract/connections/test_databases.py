"""A database connection takes the driver's settings; others are refused, and no value is shown."""

from __future__ import annotations

import json

import pytest

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.mariadb import MariaDbSettingRefused, pymysql_arguments
from tidemill.contract.connections.postgres import PostgresSettingRefused, psycopg_arguments

SECRET = "/etc/passwd"


def database(kind: str, extra: dict[str, str]) -> Connection:
    text = json.dumps({"conn_type": kind, "host": "db", "schema": "sales", "extra": extra})
    return connection("warehouse", {"AIRFLOW_CONN_WAREHOUSE": text})


def test_a_setting_that_postgres_does_not_have_is_refused() -> None:
    with pytest.raises(PostgresSettingRefused) as refused:
        psycopg_arguments(database("postgres", {"sslmodus": SECRET}))
    assert refused.value.key == "sslmodus"
    assert SECRET not in str(refused.value)
    assert psycopg_arguments(database("postgres", {"sslmode": "require"}))["sslmode"] == "require"


def test_a_setting_that_lets_the_server_read_our_files_is_refused() -> None:
    with pytest.raises(MariaDbSettingRefused) as refused:
        pymysql_arguments(database("mysql", {"local_infile": SECRET}))
    assert refused.value.key == "local_infile"
    assert SECRET not in str(refused.value)
    assert pymysql_arguments(database("mysql", {"unix_socket": "/s"}))["unix_socket"] == "/s"
