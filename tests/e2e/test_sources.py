"""File sources and triggers: each format's own way of being malformed, and awkward names."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.support.pipelines.orders_pipeline import SPEC, OrdersPipeline
from tidemill.contract.report import Outcome

TRANSFORM = "def transform(orders):\n    return orders.select('id', *PARTITIONS)\n"


def mill_of(home: Path, partitions: dict[str, str], **source: Any) -> OrdersPipeline:
    """A mill whose transform keeps the id and the partitions only."""
    spec = json.loads(json.dumps(SPEC))
    spec["sources"]["orders"].update(source)
    spec["output"] = {"partition_by": partitions}
    spec["gate"] = {"rejected": {"hold_above": 1}}
    mill = OrdersPipeline(home, spec)
    text = TRANSFORM.replace("PARTITIONS", repr(list(partitions)))
    mill.pipeline.transform_file.write_text(text)
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0]["type"] = "expect_column_values_to_not_be_null"
    suite["expectations"][0]["kwargs"] = {"column": "id"}
    mill.suite.write_text(json.dumps(suite))
    return mill


def rows(mill: OrdersPipeline, *columns: str) -> Counter[tuple[Any, ...]]:
    table = DeltaTable(mill.layout.table).to_pyarrow_table(columns=list(columns))
    return Counter(tuple(row.values()) for row in table.to_pylist())


def test_json_lines_that_do_not_parse_are_rejected_whole(tmp_path: Path, spark: object) -> None:
    schema = "id string, quantity int, at timestamp, `shop.city` string"
    mill = mill_of(tmp_path, {}, format="json", schema=schema)
    lines = [
        '{"id": "a", "quantity": 1, "at": "2026-03-01T00:00:00", "shop.city": "Ur"}',
        '{"id": "b", "quantity": "many", "at": "2026-03-01T00:00:00"}',
        '{"id": "c", "quantity": 1',
        '{"id": "d", "quantity": 1}',
        '{"ID": "e", "At": "2026-03-01T00:00:00"}',
        '{"id": "f", "at": "2026-03-01T00:00:00"}{"id": "g", "at": "2026-03-01T00:00:00"}',
    ]
    (mill.input / "orders.json").write_text("\n".join(lines) + "\n")

    assert mill.run("first")["publish"].outcome is Outcome.DONE
    assert rows(mill, "id") == Counter([("a",)])
    assert mill.rejected() == Counter(
        [
            ("malformed", lines[1]),
            ("malformed", lines[2]),
            ("no event time", lines[3]),
            ("no event time", lines[4]),
            ("malformed", lines[5]),
        ]
    )


def test_parquet_files_keep_their_rows(tmp_path: Path, spark: object) -> None:
    mill = mill_of(tmp_path, {"day": "to_date(at)"}, format="parquet")
    at = pa.array([datetime(2026, 3, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    table = pa.table({"id": ["a", "b"], "quantity": pa.array([1, 2], pa.int32()), "at": at})
    pq.write_table(table, mill.input / "orders.parquet")

    assert mill.run("first")["publish"].outcome is Outcome.DONE
    assert [row for (row,) in rows(mill, "id")] == ["a"]
    assert [reason for reason, _ in mill.rejected()] == ["no event time"]


def test_once_takes_everything_in_one_batch(tmp_path: Path, spark: object) -> None:
    mill = OrdersPipeline(tmp_path)
    mill.spec["trigger"] = "once"
    del mill.spec["sources"]["orders"]["maxFilesPerTrigger"]
    mill = OrdersPipeline(tmp_path, mill.spec)
    mill.deliver_days(range(1, 4))

    reports = mill.run("first")

    assert reports["ingest"].facts["batches"] == [0]
    mill.assert_whole()


def test_available_now_is_bounded_by_files_per_batch(mill: OrdersPipeline, spark: object) -> None:
    mill.deliver_days(range(1, 4))
    reports = mill.run("first")
    assert reports["ingest"].facts["batches"] == [0, 1, 2]
    assert reports["ingest"].facts["rows_in"] == [21, 21, 21]
    mill.assert_whole()


AWKWARD = ["a:b", "50%", "x/y", "k=v", "#1", "why?", "é", "United Kingdom", "plain"]


def test_awkward_partition_values_round_trip_and_empty_ones_are_rejected(
    tmp_path: Path, spark: object
) -> None:
    mill = mill_of(tmp_path, {"place": "id"})
    mill.deliver("places.csv", [f'"{p}",1,2026-03-01 00:00:00' for p in [*AWKWARD, ""]])

    assert mill.run("first")["publish"].outcome is Outcome.DONE

    expected = Counter((place, place) for place in AWKWARD)
    assert rows(mill, "id", "place") == expected
    polars = pl.read_delta(str(mill.layout.table)).select("id", "place").rows()
    assert Counter(polars) == expected
    duck = duckdb.connect()
    duck.register("orders", DeltaTable(mill.layout.table).to_pyarrow_dataset())
    found = duck.execute("SELECT id, place FROM orders").fetchall()
    assert Counter(found) == expected
    assert len(mill.rejected()) == 1


def test_a_header_that_does_not_match_the_schema_is_an_error_and_not_swapped_columns(
    mill: OrdersPipeline, spark: object
) -> None:
    mill.deliver("swapped.csv", ["2026-03-01 00:00:00,1,a"], header="at,quantity,id")
    reports = mill.run("first")
    assert reports["ingest"].outcome is Outcome.FAILED
    assert reports["ingest"].error is not None
    assert reports["ingest"].error["code"] == "FileUnreadable"
    mill.deliver("swapped.csv", ["a,1,2026-03-01 00:00:00"])
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    mill.assert_whole()


ODD_NAMES = """
_id string COMMENT 'The key, as sold', `shop.city` string, `Ärger` int, `ORDER ID` int,
`when.booked` timestamp
"""
ODD_TOTALS = """
SELECT _id, `ORDER ID`, `Tag.es`, sum(`Ärger`) AS `Ärger.Summe`, count(`shop.city`) AS ANZAHL
FROM orders
GROUP BY _id, `ORDER ID`, `Tag.es`
"""


def test_columns_keep_their_names_as_they_come(tmp_path: Path, spark: object) -> None:
    spec = json.loads(json.dumps(SPEC))
    spec["sources"]["orders"].update(format="json", schema={"file": "odd.ddl"})
    spec["event_time"] = {"column": "when.booked", "watermark": "1 hour"}
    spec["row_rules"] = {"city_known": "`shop.city` IS NOT NULL"}
    partitions = {"Tag.es": "to_date(`when.booked`)"}
    keys = ["_id", "ORDER ID", "Tag.es"]
    spec["output"] = {"mode": "update", "keys": keys, "partition_by": partitions}
    spec["gate"] = {"rejected": {"hold_above": 1}}
    mill = OrdersPipeline(tmp_path, spec)
    (tmp_path / "project" / "odd.ddl").write_text(ODD_NAMES)
    python = mill.pipeline.transform_file
    python.unlink()
    python.with_suffix(".sql").write_text(ODD_TOTALS)
    suite = json.loads(mill.suite.read_text())
    suite["expectations"][0]["kwargs"] = {"column": "Ärger.Summe", "min_value": 1}
    mill.suite.write_text(json.dumps(suite))
    for number, city in enumerate(["Ur", "Uruk", None]):
        row = {"_id": "a", "shop.city": city, "Ärger": 2, "ORDER ID": 7}
        line = json.dumps({**row, "when.booked": "2026-03-01T00:00:00"}, ensure_ascii=False)
        (mill.input / f"{number}.json").write_text(line + "\n")

    assert mill.run("first")["publish"].outcome is Outcome.DONE

    expected = [{"_id": "a", "ORDER ID": 7, "Tag.es": date(2026, 3, 1), "Ärger.Summe": 4}]
    expected[0]["ANZAHL"] = 2
    assert DeltaTable(mill.layout.table).to_pyarrow_table().to_pylist() == expected
    comments = {
        f.name: f.metadata.get("comment") for f in DeltaTable(mill.layout.table).schema().fields
    }
    assert (comments["_id"], comments["ORDER ID"]) == ("The key, as sold", None)
    assert pl.read_delta(str(mill.layout.table)).to_dicts() == expected
    dataset = DeltaTable(mill.layout.table).to_pyarrow_dataset()
    found = duckdb.from_arrow(dataset).arrow().read_all()
    assert found.to_pylist() == expected
    assert [reason for reason, _ in mill.rejected()] == ["rule city_known"]


def test_xml_is_published_its_malformed_rows_are_rejected_and_a_torn_file_is_held(
    tmp_path: Path, spark: object
) -> None:
    spec = json.loads(json.dumps(SPEC))
    schema = "id string, quantity int, at timestamp"
    spec["sources"]["orders"].update(format="xml", schema=schema)
    spec["sources"]["orders"]["options"] = {"rowTag": "order", "attributePrefix": ""}
    mill = OrdersPipeline(tmp_path, spec)
    order = '<order id="{}"><quantity>{}</quantity><at>2026-03-01T00:00:00Z</at></order>'
    many = order.format("c", "many")
    whole = f"<orders>{order.format('a', 1)}{many}{order.format('b', 2)}</orders>"
    (mill.input / "1.xml.gz").write_bytes(gzip.compress(whole.encode()))

    reports = mill.run("first")

    assert reports["publish"].outcome is Outcome.DONE, reports["publish"].reason
    assert (reports["ingest"].facts["rows"], reports["ingest"].facts["rejected"]) == (2, 1)
    day = date(2026, 3, 1)
    assert mill.published() == Counter([("a", 1, 2, day), ("b", 2, 4, day)])
    assert mill.rejected() == Counter([("malformed", many)])
    (mill.input / "2.xml").write_text(f"<orders>{order.format('d', 4)}")
    torn = mill.step("doctor", "second").error
    assert torn is not None
    assert torn["code"] == "InputPartRead"
    (mill.input / "2.xml").write_text(f"<orders>{order.format('d', 4)}</orders>")
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    assert mill.published()["d", 4, 8, day] == 1
