"""Static inputs from PostgreSQL, MariaDB and MySQL: the rows of a query, copied as Parquet."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.servers.postgres import Postgres
from tests.support.memory_buckets import new_root_in_memory
from tests.support.warehouse import WAREHOUSES, Warehouse
from tidemill.contract.connections.airflow import ConnectionMissing
from tidemill.contract.objects.object_path import path_of
from tidemill.engine.sources.static_database import (
    COPY,
    StaticQueryRefused,
    StaticUnfit,
    StaticUnreachable,
    pin_query,
)
from tidemill.ledger.static_pins import StaticPin
from tidemill.spec.static_inputs import DatabaseStatic, MariaDbStatic, PostgresStatic

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "id int, name string, price decimal(8,2), born date, seen timestamp"
QUERY = "SELECT id, name, price, born, seen FROM customers ORDER BY id"


@pytest.fixture(params=["postgres", "mariadb", "mysql"])
def warehouse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A database with a table of customers on each of the servers."""
    found = WAREHOUSES[request.param](request.getfixturevalue(request.param))
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", found.connection)
    time = "timestamptz" if request.param == "postgres" else "datetime(6)"
    found.execute(
        f"CREATE TABLE customers (id int, name text, price decimal(8,2), born date, seen {time})"
    )
    found.execute("INSERT INTO customers VALUES (1, 'Ada', 2.50, '1815-12-10', %s)", "2026-03-01")
    found.execute("INSERT INTO customers (id) VALUES (2)")
    return found


def static_of(warehouse: Warehouse, **changes: str) -> DatabaseStatic:
    kind = PostgresStatic if warehouse.kind == "postgres" else MariaDbStatic
    given = {"kind": warehouse.kind, "conn_id": "warehouse", "query": QUERY, "schema": SCHEMA}
    return kind.model_validate({**given, **changes})


def rows(place: Path, pin: StaticPin) -> list[tuple[Any, ...]]:
    table = parquet.read_table(place / pin.identity / COPY)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_the_rows_are_copied_with_their_types(warehouse: Warehouse, tmp_path: Path) -> None:
    pin = pin_query("customers", static_of(warehouse), tmp_path)
    seen = datetime(2026, 3, 1, tzinfo=UTC)
    assert rows(tmp_path, pin) == [
        (1, "Ada", Decimal("2.50"), date(1815, 12, 10), seen),
        (2, None, None, None, None),
    ]
    assert (pin.rows, [file.path for file in pin.files]) == (2, [COPY])


def test_rows_that_did_not_change_are_kept_once(warehouse: Warehouse, tmp_path: Path) -> None:
    static = static_of(warehouse)
    first = pin_query("customers", static, tmp_path)
    assert pin_query("customers", static, tmp_path) == first
    warehouse.execute("UPDATE customers SET name = 'Augusta' WHERE id = 1")
    second = pin_query("customers", static, tmp_path)
    assert [rows(tmp_path, pin)[0][1] for pin in (first, second)] == ["Ada", "Augusta"]
    names = {folder.name for folder in tmp_path.iterdir()}
    assert names == {first.identity, second.identity}


def test_rows_are_copied_into_a_bucket_once(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = WAREHOUSES["postgres"](postgres)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", warehouse.connection)
    place = path_of(new_root_in_memory(monkeypatch))
    one = static_of(warehouse, query="SELECT 1 AS id", schema="id int")
    first = pin_query("ones", one, place)
    assert pin_query("ones", one, place) == first
    assert first.missing_in(place / first.identity) is None
    assert [name.name for name in place.iterdir()] == [first.identity]
    with (place / first.identity / COPY).open("rb") as copy:
        assert parquet.read_table(copy).to_pylist() == [{"id": 1}]


def test_no_rows_are_a_table_too(warehouse: Warehouse, tmp_path: Path) -> None:
    none = static_of(warehouse, query=QUERY.replace("ORDER", "WHERE id > 9 ORDER"))
    assert rows(tmp_path, pin_query("customers", none, tmp_path)) == []


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        ({"schema": "id int, name string"}, ["id", "name"]),
        ({"query": "SELECT name FROM customers", "schema": "name int"}, ["name"]),
        ({"query": "SELECT id * 1000000000000 FROM customers", "schema": "many int"}, ["many"]),
    ],
)
def test_rows_that_are_not_as_the_spec_says_are_refused_without_quoting_them(
    warehouse: Warehouse, tmp_path: Path, changes: dict[str, str], columns: list[str]
) -> None:
    with pytest.raises(StaticUnfit) as unfit:
        pin_query("customers", static_of(warehouse, **changes), tmp_path)
    assert unfit.value.columns == columns
    assert "Ada" not in str(unfit.value)


@pytest.mark.parametrize(
    "query", ["SELECT nothing FROM customers", "DELETE FROM customers", "SELEC 1"]
)
def test_a_query_that_is_wrong_or_would_change_something_is_refused(
    warehouse: Warehouse, tmp_path: Path, query: str
) -> None:
    with pytest.raises(StaticQueryRefused) as refused:
        pin_query("customers", static_of(warehouse, query=query), tmp_path)
    assert refused.value.static == "customers"
    assert warehouse.execute("SELECT count(*) FROM customers") == [(2,)]


def test_a_database_that_does_not_answer_is_tried_again(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = warehouse.connection.replace(str(warehouse.server.port), "1")
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", closed)
    with pytest.raises(StaticUnreachable):
        pin_query("customers", static_of(warehouse), tmp_path)
    monkeypatch.delenv("AIRFLOW_CONN_WAREHOUSE")
    with pytest.raises(ConnectionMissing):
        pin_query("customers", static_of(warehouse), tmp_path)
