"""What the drivers say becomes one of our errors, before and beside any server."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pymysql
import pytest

from tidemill.contract.connections.airflow import connection
from tidemill.publish.database import mariadb_target, postgres_target
from tidemill.publish.database.errors import DatabaseBusy, NameUnfit
from tidemill.publish.database.postgres_session import PostgresSession

NO_CONNECTION: Any = None
GIVEN = connection(
    "warehouse", {"AIRFLOW_CONN_WAREHOUSE": json.dumps({"conn_type": "postgres", "password": "pw"})}
)


def test_a_lock_of_somebody_else_is_tried_again() -> None:
    with (
        pytest.raises(DatabaseBusy) as postgres,
        postgres_target.ours("warehouse", GIVEN),
    ):
        raise psycopg.errors.LockNotAvailable("canceling statement, password pw")
    with pytest.raises(DatabaseBusy) as mariadb, mariadb_target.ours("warehouse", GIVEN):
        raise pymysql.err.OperationalError(1205, "Lock wait timeout exceeded, password pw")
    for error in (postgres.value, mariadb.value):
        assert error.transient
        assert "pw" not in error.what


def test_a_name_that_the_database_would_cut_is_refused_with_the_name() -> None:
    session = PostgresSession(NO_CONNECTION, "public", "orders", NO_CONNECTION)
    with pytest.raises(NameUnfit) as refused:
        session.quoted("a" * 64)
    assert refused.value.name_given == "a" * 64
