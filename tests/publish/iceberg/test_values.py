"""Every type that a Delta table holds arrives in an Iceberg table as it is, alone and nested."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from tests.support.histories.history_builder import History, row
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.report import Outcome

AT = datetime(2024, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
VALUES = {
    "boolean": (pa.bool_(), True),
    "tinyint": (pa.int8(), -7),
    "smallint": (pa.int16(), 300),
    "int": (pa.int32(), 70_000),
    "bigint": (pa.int64(), 2**40),
    "float": (pa.float32(), 1.5),
    "double": (pa.float64(), float("inf")),
    "decimal": (pa.decimal128(38, 18), Decimal("-1.500000000000000001")),
    "string": (pa.string(), "ä" * 100 + "\U0001f600"),
    "binary": (pa.binary(), b"\x00\xff"),
    "date": (pa.date32(), date(1969, 12, 31)),
    "timestamp": (pa.timestamp("us", "UTC"), AT),
    "timestamp_ntz": (pa.timestamp("us"), AT.replace(tzinfo=None)),
}


def test_values_arrive_as_they_are(
    make_history: Callable[..., History], catalogue: Catalogue
) -> None:
    fields: list[pa.Field] = [pa.field("id", pa.int64())]
    one = {"id": 1, "day": row(1)["day"]}
    for name, (kind, value) in VALUES.items():
        nested = pa.struct([pa.field("a", pa.list_(kind)), pa.field("b", kind)])
        fields += [pa.field(name, kind), pa.field(f"{name}_in", nested)]
        one |= {name: value, f"{name}_in": {"a": [value, None], "b": value}}
    history = make_history(
        columns=pa.schema([*fields, pa.field("map", pa.map_(pa.string(), pa.int32()))]),
        more=f"publish: [{{kind: delta}}, {catalogue.target}]",
    )
    one["map"] = [("k", 1)]
    nothing = {"id": 2, "day": one["day"]}
    history.increment([one, nothing])
    assert history.publish().outcome is Outcome.DONE
    found = catalogue.table().scan().to_arrow().sort_by("id").to_pylist()
    assert found == [one, {**dict.fromkeys(one), **nothing}]


def test_a_filter_finds_the_row_of_each_value(
    make_history: Callable[..., History], catalogue: Catalogue
) -> None:
    fields = [pa.field(name, kind) for name, (kind, _) in VALUES.items()]
    history = make_history(
        columns=pa.schema([pa.field("id", pa.int64()), *fields]),
        more=f"publish: [{{kind: delta}}, {catalogue.target}]",
    )
    values = {name: value for name, (_, value) in VALUES.items()}
    history.increment([{"id": 1, "day": row(1)["day"], **values}])
    history.publish()
    table = catalogue.table()
    for name in ("int", "bigint", "string", "date", "decimal", "smallint"):
        text = f"'{values[name]}'" if name in ("string", "date") else str(values[name])
        assert table.scan(row_filter=f"{name} >= {text}").to_arrow()["id"].to_pylist() == [1]
        assert [*table.scan(row_filter=f"{name} < {text}").to_arrow()["id"].to_pylist()] == []
