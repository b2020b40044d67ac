"""The targets of a spec: what the journal calls them, and how they take an output mode."""

from __future__ import annotations

import pytest

from tidemill.spec.output import OutputMode
from tidemill.spec.targets import KafkaTarget, MariaDbTarget, PostgresTarget


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
