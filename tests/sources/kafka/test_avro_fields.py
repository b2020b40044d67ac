"""Places in Avro schemas, and fields of one name that are measured in two units."""

from __future__ import annotations

from typing import Any

import pytest

from tidemill.sources.kafka.avro_fields import field_at, other_unit


def record(**fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")


@pytest.mark.parametrize(
    ("location", "field"),
    [
        ("/", ""),
        ("/name", ""),
        ("/fields/0", "id"),
        ("/fields/1/type/1/fields/0/type", "address.street"),
    ],
)
def test_a_place_is_told_as_a_field(location: str, field: str) -> None:
    schema = record(id="string", address=["null", record(street="string")])
    assert field_at(schema, location) == field


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(at=MICROS), record(at=MILLIS)),
        (record(at=["null", MICROS]), record(at=MILLIS)),
        (
            record(at={"type": "array", "items": MICROS}),
            record(at={"type": "array", "items": MILLIS}),
        ),
        (
            record(at=logical("bytes", "decimal", precision=9, scale=2)),
            record(at=logical("bytes", "decimal", precision=9, scale=3)),
        ),
    ],
)
def test_another_unit_is_found_that_avro_takes_no_notice_of(reader: Any, writer: Any) -> None:
    found = other_unit(reader, writer)
    assert found is not None
    assert found[0] == "at"


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(at=MILLIS), record(at=["null", MILLIS])),
        (record(at=MILLIS), record(at="long")),
        (record(at=MILLIS), record(id="string")),
        ("string", record(at=MILLIS)),
    ],
)
def test_the_same_unit_or_none_is_no_other_unit(reader: Any, writer: Any) -> None:
    assert other_unit(reader, writer) is None


def test_a_field_under_its_former_name_is_compared_too() -> None:
    reader = record(at=MICROS)
    reader["fields"][0]["aliases"] = ["time"]
    assert other_unit(reader, record(time=MILLIS)) is not None
