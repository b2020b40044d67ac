"""The targets of a spec: what the journal calls them, and how they take an output mode."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tidemill.spec.iceberg_target import IcebergTarget
from tidemill.spec.model import Disagreement
from tidemill.spec.output import OutputMode
from tidemill.spec.targets import DeltaTarget, KafkaTarget, MariaDbTarget, PostgresTarget


def postgres(**given: str) -> PostgresTarget:
    return PostgresTarget.model_validate(
        {"kind": "postgres", "conn_id": "warehouse", "table": "orders", **given}
    )


def test_another_server_schema_or_table_is_another_target() -> None:
    names = [
        postgres().name,
        postgres(conn_id="other").name,
        postgres(schema="sales").name,
        postgres(table="orders2").name,
        MariaDbTarget(kind="mariadb", conn_id="warehouse", table="orders").name,
        KafkaTarget(kind="kafka", topic="orders").name,
        KafkaTarget(kind="kafka", topic_column="orders").name,
    ]
    assert len(set(names)) == len(names)


def test_another_mode_is_the_same_target() -> None:
    assert postgres(mode="upsert").name == postgres().name


def test_a_long_name_fits_into_a_file_name_and_stays_unlike_others() -> None:
    names = {postgres(conn_id="c" * 250, table=f"orders_{n}").name for n in range(3)}
    assert len(names) == 3
    assert max(map(len, names)) <= 120


@pytest.mark.parametrize(
    ("mode", "taken"), [("append", "append"), ("update", "upsert"), ("complete", "replace")]
)
def test_a_table_takes_what_keeps_it_equal_to_the_published_rows(mode: str, taken: str) -> None:
    assert postgres().mode_for(OutputMode(mode)) == taken


def iceberg(**given: object) -> IcebergTarget:
    return IcebergTarget.model_validate(
        {"kind": "iceberg", "table": "sales.orders", "conn_id": "lake", **given}
    )


def test_another_catalogue_or_table_is_another_target_and_other_properties_are_not() -> None:
    names = {iceberg(table=table, catalog=name).name for table in ("a.b", "a.c") for name in "xy"}
    assert len(names) == 4
    assert iceberg(properties={"warehouse": "s3://bucket"}).name == iceberg().name


@pytest.mark.parametrize(
    "properties",
    [
        {"token": "abc"},
        {"credential": "id:secret"},
        {"s3.secret-access-key": "abc"},
        {"uri": "postgresql+psycopg://tidemill:secret@db/lake"},
    ],
)
def test_a_secret_of_a_catalogue_belongs_into_its_connection(properties: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as refused:
        iceberg(properties=properties)
    (error,) = refused.value.errors()
    assert isinstance(error["ctx"]["error"], Disagreement)


def test_a_catalogue_has_a_type_or_a_connection() -> None:
    with pytest.raises(ValueError, match="conn_id"):
        iceberg(conn_id=None, properties={"uri": "https://lake"})
    assert (
        iceberg(conn_id=None, properties={"type": "glue"}).name == "iceberg.tidemill.sales.orders"
    )


@pytest.mark.parametrize(
    ("properties", "field"),
    [({"type": "gleu"}, "type"), ({"type": "in-memory"}, "type"), ({"type": "hive"}, "uri")],
)
def test_properties_that_lead_to_no_catalogue_are_refused(
    properties: dict[str, str], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        iceberg(conn_id=None, properties=properties)
    (error,) = refused.value.errors()
    disagreement = error["ctx"]["error"]
    assert isinstance(disagreement, Disagreement)
    assert disagreement.at == ("properties", field)


@pytest.mark.parametrize(
    ("catalog", "at"),
    [
        ({"type": "glue", "table": "sales.orders", "conn_id": "metastore"}, "type"),
        ({"type": "hive", "table": "orders", "conn_id": "metastore"}, "table"),
        ({"type": "hive", "table": "sales.orders"}, "conn_id"),
    ],
)
def test_a_delta_tables_name_in_a_catalogue_is_checked(catalog: dict[str, str], at: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        DeltaTarget.model_validate({"kind": "delta", "catalog": catalog})
    (error,) = refusal.value.errors()
    assert error["loc"] == ("catalog", at)


def test_the_connection_of_a_delta_tables_catalogue_is_one_of_the_specs() -> None:
    catalog = {"type": "hive", "table": "Sales.Orders", "conn_id": "metastore"}
    target = DeltaTarget.model_validate({"kind": "delta", "catalog": catalog})
    assert target.conn_id == "metastore"
    assert target.catalog is not None
    assert target.catalog.database_and_name == ("sales", "orders")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("delta.appendOnly", True, "Tidemill decides delta.appendOnly itself: swaps"),
        ("delta.setTransactionRetentionDuration", "interval 1 day", "say what was published"),
        ("delta.enableChangeDataFed", True, "not known"),
        ("owner", "logistics", "not known"),
        ("delta.checkpointInterval", 0, "a number of commits"),
        ("delta.logRetentionDuration", "interval 2 hours", "days or weeks"),
    ],
)
def test_a_property_that_a_delta_table_would_not_heed_is_refused(
    name: str, value: object, said: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        DeltaTarget.model_validate({"kind": "delta", "table_properties": {name: value}})
    (error,) = refused.value.errors()
    assert error["ctx"]["error"].at == ("table_properties", name)
    assert said in error["msg"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("tidemill.journal", "7"), ("gc.enabled", True), ("format-version", 3), ("api_token", "abc")],
)
def test_a_property_of_an_iceberg_table_that_is_ours_or_a_secret_is_refused(
    name: str, value: object
) -> None:
    with pytest.raises(ValidationError) as refused:
        iceberg(table_properties={name: value})
    (error,) = refused.value.errors()
    assert error["ctx"]["error"].at == ("table_properties", name)


def test_values_of_properties_are_texts_as_tables_have_them() -> None:
    given = {"delta.enableChangeDataFeed": True, "delta.checkpointInterval": 50}
    table = DeltaTarget.model_validate({"kind": "delta", "table_properties": given})
    assert [*table.table_properties.values()] == ["true", "50"]
    assert iceberg(table_properties={"read.split.target-size": 9}).name == iceberg().name
