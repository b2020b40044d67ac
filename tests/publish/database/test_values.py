"""Types, names and values, hostile ones too: what a database holds is what was published."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.histories.history_builder import COLUMNS, History, row, rows
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome, Report
from tidemill.spec.database_names import POSTGRES_WHOLE_KEY

Make = Callable[..., History]
NOON = datetime(2024, 3, 31, 12, 30, 15, 123456)  # noqa: DTZ001 - a type without a zone
TEXTS = [
    "",
    " ",
    "null",
    "\\N",
    "\\.",
    "a\n\\.\nb",
    "a\r\nb\tc",
    "'; DROP TABLE orders; --",
    '"quoted", and `so`',
    "back\\slash\\'",
    "100%s %(x)s {}",
    "é ß 漢字 🙂 \U0010ffff",
    "x" * 100_000,
]
NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string())), ("t", pa.timestamp("us"))])
MAP = pa.map_(pa.string(), pa.decimal128(10, 2))


def make(make_history: Make, target: str, *fields: tuple[str, pa.DataType], **more: Any) -> History:
    columns = pa.schema([("id", pa.int64()), *fields])
    return make_history(columns=columns, partitions={}, more=f"publish: [{target}]", **more)


def refused(report: Report) -> dict[str, Any]:
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    return report.error


def test_every_type_has_a_counterpart(make_history: Make, warehouse: Warehouse) -> None:
    # Arrow type, PostgreSQL's, MariaDB's, values.
    known: dict[str, tuple[pa.DataType, str, str, list[Any]]] = {
        "flag": (pa.bool_(), "boolean", "tinyint(1)", [True, False]),
        "tiny": (pa.int8(), "smallint", "tinyint", [-128, 127]),
        "small": (pa.int16(), "smallint", "smallint", [-(2**15), 2**15 - 1]),
        "number": (pa.int32(), "integer", "int", [-(2**31), 2**31 - 1]),
        "big": (pa.int64(), "bigint", "bigint", [-(2**63), 2**63 - 1]),
        "single": (pa.float32(), "real", "double", [1.5, -0.1]),
        "wide": (pa.float64(), "double precision", "double", [0.1 + 0.2, 5e-324]),
        "money": (pa.decimal128(10, 2), "numeric", "decimal(10,2)", [Decimal("-0.01"), Decimal(7)]),
        "exact": (
            pa.decimal128(38, 18),
            "numeric",
            "decimal(38,18)",
            [Decimal("0.000000000000000001"), Decimal("-12345678901234567890.123456789012345678")],
        ),
        "words": (pa.string(), "text", "longtext", ["", "é"]),
        "bits": (pa.binary(), "bytea", "longblob", [b"", b"\0\xff\\x'\""]),
        "day": (pa.date32(), "date", "date", [date(1, 1, 1), date(9999, 12, 31)]),
        "at": (
            pa.timestamp("us", "UTC"),
            "timestamp with time zone",
            "datetime(6)",
            [datetime(1, 1, 1, tzinfo=UTC), NOON.replace(tzinfo=UTC)],
        ),
        "local": (
            pa.timestamp("us"),
            "timestamp without time zone",
            "datetime(6)",
            [NOON, datetime(9999, 12, 31)],  # noqa: DTZ001,
        ),
    }
    fields = [(name, kind) for name, (kind, _, _, _) in known.items()]
    history = make(make_history, warehouse.target(), *fields)
    for place in (0, 1):
        values = {name: given[place] for name, (_, _, _, given) in known.items()}
        history.batch([{"id": place, **values}])
    history.batch([{"id": 2, **dict.fromkeys(known)}])
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    types = warehouse.types()
    place = 1 if warehouse.kind == "postgres" else 2
    assert {name: types[name] for name in known} == {n: given[place] for n, given in known.items()}
    assert list(types)[:2] == ["id", "flag"]
    found = {values[0]: values[1:] for values in warehouse.rows("id", *known)}
    assert found[2] == (None,) * len(known)
    for number in (0, 1):
        for (name, (kind, _, _, given)), value in zip(known.items(), found[number], strict=True):
            assert same(value, given[number], kind), name


def same(found: Any, published: Any, kind: pa.DataType) -> bool:
    if pa.types.is_float32(kind):
        return math.isclose(found, published, rel_tol=1e-7)
    if isinstance(published, datetime) and found.tzinfo is None:
        published = published.replace(tzinfo=None)
    return bool(found == published)


def test_arrays_maps_and_structs_are_json(make_history: Make, warehouse: Warehouse) -> None:
    history = make(
        make_history,
        warehouse.target(),
        ("list", pa.list_(pa.int64())),
        ("pairs", MAP),
        ("nested", NESTED),
    )
    history.increment(
        [
            {
                "id": 1,
                "list": [1, None],
                "pairs": [('"k\\', Decimal("1.50")), ("", None)],
                "nested": {"a": None, "b": TEXTS[:-1], "t": NOON},
            },
            {"id": 2, "list": [], "pairs": [], "nested": None},
        ]
    )
    assert history.publish().outcome is Outcome.DONE
    found = {n: values for n, *values in warehouse.rows_as_text("id", "list", "pairs", "nested")}
    assert [json.loads(text) for text in found[1]] == [
        [1, None],
        {'"k\\': 1.5, "": None},
        {"a": None, "b": TEXTS[:-1], "t": "2024-03-31T12:30:15.123456"},
    ]
    assert "1.50" in found[1][1], "a decimal keeps its digits"
    assert found[2] == ["[]", "{}", None]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_hostile_texts_come_as_they_are(
    make_history: Make, warehouse: Warehouse, mode: str
) -> None:
    target = warehouse.target(mode=mode)
    history = make(make_history, target, ("text", pa.string()), output=", keys: [id]")
    history.increment([{"id": n, "text": text} for n, text in enumerate([None, *TEXTS])])
    assert history.publish().outcome is Outcome.DONE
    found = dict(warehouse.rows("id", "text").elements())
    assert [found[n] for n in range(len(found))] == [None, *TEXTS]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_hostile_names_are_names(make_history: Make, warehouse: Warehouse, mode: str) -> None:
    names = ['"', "`", "'; DROP TABLE orders; --", "%s", "a b", "é漢", "select", "VALUES (%s)"]
    fields = [(name, pa.string()) for name in names]
    target = warehouse.target(mode=mode)
    history = make(make_history, target, *fields, output=", keys: [id]")
    for number in (1, 2):
        history.increment([{"id": 1, **{name: f"{name} {number}" for name in names}}])
    assert history.publish().outcome is Outcome.DONE
    found = warehouse.rows(*names)
    assert tuple(f"{name} 2" for name in names) in found
    assert sum(found.values()) == (2 if mode == "append" else 1)


@pytest.mark.parametrize("name", ["", "x" * 65, "ß" * 32, "🙂", "end "])
def test_a_name_that_would_be_cut_or_bent_is_refused(
    make_history: Make, warehouse: Warehouse, name: str
) -> None:
    fine = {"ß" * 32: "mariadb", "🙂": "postgres", "end ": "postgres"}
    history = make(make_history, warehouse.target(), (name, pa.string()))
    history.increment([{"id": 1, name: "x"}])
    report = history.publish()
    if fine.get(name) == warehouse.kind:
        assert report.outcome is Outcome.DONE
        assert warehouse.rows(name) == {("x",): 1}
    else:
        assert report.error is not None
        assert report.error["data"]["name_given"] == name
        assert warehouse.tables("orders") == []


HAS_NO_PLACE = {
    "postgres": (pa.string(), "a\0b", "a"),
    "mariadb": (pa.float64(), math.nan, 1.5),
}


def test_a_value_without_a_place_is_refused_before_a_row_is_seen(
    make_history: Make, warehouse: Warehouse
) -> None:
    kind, bad, good = HAS_NO_PLACE[warehouse.kind]
    history = make(make_history, warehouse.target(), ("value", kind))
    history.increment([{"id": 1, "value": good}, {"id": 2, "value": bad}])
    error = refused(history.publish())
    assert (error["code"], error["data"]["column"], error["data"]["values"]) == (
        "Unstorable",
        "value",
        1,
    )
    assert warehouse.ids() == []


def test_a_value_without_a_place_is_null_where_the_spec_says_so(
    make_history: Make, warehouse: Warehouse
) -> None:
    kind, bad, good = HAS_NO_PLACE[warehouse.kind]
    history = make(make_history, warehouse.target(unstorable="as_null"), ("value", kind))
    history.increment([{"id": 1, "value": good}, {"id": 2, "value": bad}])
    assert history.publish().outcome is Outcome.DONE
    assert dict(warehouse.rows("id", "value").elements()) == {1: good, 2: None}


@pytest.mark.parametrize("warehouse", ["postgres"], indirect=True)
def test_nan_and_infinity_are_numbers_to_postgres(make_history: Make, warehouse: Warehouse) -> None:
    history = make(make_history, warehouse.target(), ("value", pa.float64()))
    given = [math.nan, math.inf, -math.inf, -0.0]
    history.increment([{"id": n, "value": value} for n, value in enumerate(given)])
    assert history.publish().outcome is Outcome.DONE
    found = dict(warehouse.rows("id", "value").elements())
    assert [repr(found[n]) for n in range(len(found))] == ["nan", "inf", "-inf", "-0.0"]


def test_years_that_few_know_are_stored_or_refused_by_name(
    make_history: Make, warehouse: Warehouse
) -> None:
    day, moment = 3_673_000, 317_334_243_723_000_000
    fields = (("day", pa.date32()), ("at", pa.timestamp("us", "UTC")))
    history = make(make_history, warehouse.target(), *fields)
    history.increment([{"id": 1, "day": day, "at": moment}])
    report = history.publish()
    if warehouse.kind == "mariadb":
        error = refused(report)
        assert (error["code"], error["data"]["column"]) == ("Unstorable", "day")
        return
    assert report.outcome is Outcome.DONE
    found = warehouse.execute("SELECT day::text, at::timestamp::text FROM orders")
    assert found == [("12026-05-02", "12025-12-03 01:02:03")]
    history.increment([{"id": 2, "day": -719_528, "at": moment}])
    error = refused(history.publish())
    assert (error["code"], error["data"]["column"]) == ("Unstorable", "day")


def test_a_nul_inside_of_json_has_no_place_in_postgres_either(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make(make_history, warehouse.target(), ("list", pa.list_(pa.string())))
    history.increment([{"id": 1, "list": ["\\u0000", "\\\\u0000"]}])
    assert history.publish().outcome is Outcome.DONE
    history.increment([{"id": 2, "list": ["\\\0"]}])
    report = history.publish()
    if warehouse.kind == "postgres":
        assert refused(report)["code"] == "Unstorable"
    else:
        assert report.outcome is Outcome.DONE
        ((text,),) = warehouse.execute("SELECT list FROM orders WHERE id = 2")
        assert json.loads(text) == ["\\\0"]


def test_a_new_column_is_added_and_older_rows_have_null(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(more=f"publish: [{warehouse.target()}]")
    history.increment(rows(1))
    history.publish()
    history.start(COLUMNS.append(pa.field("channel", pa.string())))
    history.increment([row(2, channel="web")])
    assert history.publish().outcome is Outcome.DONE
    assert dict(warehouse.rows("id", "channel").elements()) == {1: None, 2: "web"}


def test_another_type_or_a_missing_column_is_refused_before_a_row_is_written(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(more=f"publish: [{warehouse.target()}]")
    history.increment(rows(1))
    history.publish()
    history.start(COLUMNS.set(0, pa.field("id", pa.string())))
    history.increment([row(2, id="2")])
    error = refused(history.publish())
    assert (error["code"], error["data"]["column"]) == ("SchemaChanged", "id")
    assert warehouse.ids() == [1]


def test_a_table_that_somebody_made_beforehand_is_taken_as_it_is(
    make_history: Make, warehouse: Warehouse
) -> None:
    text = "text" if warehouse.kind == "postgres" else "longtext"
    warehouse.execute(f"CREATE TABLE orders (text {text}, id bigint NOT NULL PRIMARY KEY)")
    target = warehouse.target(mode="upsert")
    history = make(make_history, target, ("text", pa.string()), output=", keys: [id]")
    history.increment([{"id": 1, "text": "a"}])
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.rows("id", "text") == {(1, "a"): 1}
    assert list(warehouse.types())[:2] == ["text", "id"]


def test_a_key_that_is_not_the_tables_is_refused(make_history: Make, warehouse: Warehouse) -> None:
    warehouse.execute("CREATE TABLE orders (id bigint)")
    history = make(make_history, warehouse.target(mode="upsert"), output=", keys: [id]")
    history.increment([{"id": 1}])
    error = refused(history.publish())
    assert (error["code"], error["data"]["why"]) == ("KeyUnfit", [])


@pytest.mark.parametrize("warehouse", ["mariadb", "mysql"], indirect=True)
def test_a_table_without_transactions_is_refused(make_history: Make, warehouse: Warehouse) -> None:
    warehouse.execute("CREATE TABLE orders (id bigint) ENGINE=MyISAM")
    history = make(make_history, warehouse.target())
    history.increment([{"id": 1}])
    error = refused(history.publish())
    assert (error["code"], error["data"]["engine"]) == ("EngineUnfit", "MyISAM")
    assert warehouse.ids() == []


@pytest.mark.parametrize("warehouse", ["mariadb", "mysql"], indirect=True)
def test_keys_that_the_table_cannot_tell_apart_are_refused(
    make_history: Make, warehouse: Warehouse
) -> None:
    warehouse.execute("CREATE TABLE orders (text varchar(255) PRIMARY KEY, id bigint)")
    target = warehouse.target(mode="upsert")
    history = make(make_history, target, ("text", pa.string()), output=", keys: [text]")
    history.increment([{"id": 1, "text": "a"}, {"id": 2, "text": "A"}])
    error = refused(history.publish())
    assert (error["code"], error["data"]["column"]) == ("CollationUnfit", "text")


@pytest.mark.parametrize("warehouse", ["mariadb", "mysql"], indirect=True)
def test_a_value_that_does_not_fit_is_not_cut(make_history: Make, warehouse: Warehouse) -> None:
    target = warehouse.target(mode="upsert")
    history = make(make_history, target, ("text", pa.string()), output=", keys: [text]")
    history.increment([{"id": 1, "text": "x" * 256}])
    assert refused(history.publish())["code"] == "DatabaseRefused"
    assert warehouse.ids() == []


@pytest.mark.parametrize("warehouse", ["postgres"], indirect=True)
@pytest.mark.parametrize(("more", "stored"), [(0, True), (120, False)])
def test_the_longest_key_that_is_let_through_is_stored(
    make_history: Make, warehouse: Warehouse, more: int, stored: bool
) -> None:
    # An index compresses what it can; three bytes each.
    letters = Random(7).choices([chr(code) for code in range(0x4E00, 0x9FFF)], k=3000)
    text = "".join(letters)[: POSTGRES_WHOLE_KEY // 3 + more // 3]
    target = warehouse.target(mode="upsert")
    history = make(make_history, target, ("text", pa.string()), output=", keys: [text, id]")
    history.increment([{"id": 1, "text": text}])
    report = history.publish()
    assert warehouse.ids() == ([1] if stored else [])
    if not stored:
        assert refused(report)["code"] == "DatabaseRefused"
