"""Columns of a file against those of the spec."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.support.avro_file import write_avro
from tidemill.contract.syntax.ddl import column_types
from tidemill.file_formats.reader import NO_ZONE
from tidemill.file_formats.schema_fit import misfits
from tidemill.file_formats.table import READERS
from tidemill.spec.sources.file import FileSource

SOURCE = FileSource.model_validate({"format": "parquet", "path": "/feed", "schema": "at timestamp"})
INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()


def found(ddl: str, *fields: tuple[str, pa.DataType]) -> list[str]:
    return list(misfits(pa.schema(fields), column_types(ddl)))


@pytest.mark.parametrize(
    ("kind", "ddl"),
    [
        (INT, "int"),
        (INT, "bigint"),
        (pa.uint16(), "int"),
        (INT, "double"),
        (pa.float32(), "double"),
        (INT, "decimal(12,2)"),
        (pa.decimal128(8, 2), "decimal(10,2)"),
        (pa.decimal128(8, 2), "decimal(10,4)"),
        (pa.large_string(), "varchar(9)"),
        (pa.dictionary(INT, TEXT), "string"),
        (TEXT, "binary"),
        (pa.binary(4), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("ms", "Europe/Berlin"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.struct([("a", INT), ("z", TEXT)]), "struct<a: int>"),
        (pa.list_(INT), "array<bigint>"),
        (pa.map_(TEXT, INT), "map<string, int>"),
        (TEXT, "variant"),
    ],
)
def test_what_widens_without_loss_fits(kind: pa.DataType, ddl: str) -> None:
    assert found(f"a {ddl}", ("a", kind)) == []


@pytest.mark.parametrize(
    ("kind", "ddl", "said"),
    [
        (LONG, "int", "column a is int64, not int"),
        (INT, "smallint", "column a is int32, not smallint"),
        (pa.uint32(), "int", "column a is uint32, not int"),
        (TEXT, "int", "column a is string, not int"),
        (INT, "string", "column a is int32, not string"),
        (pa.float64(), "int", "column a is double, not int"),
        (pa.float64(), "float", "column a is double, not float"),
        (LONG, "double", "column a is int64, not double"),
        (TEXT, "date", "column a is string, not date"),
        (TEXT, "timestamp", "column a is string, not timestamp"),
        (pa.timestamp("us"), "timestamp", f"column a is {NO_ZONE}, not timestamp"),
        (pa.timestamp("us", "UTC"), "timestamp_ntz", "column a is timestamp, not timestamp_ntz"),
        (
            pa.list_(pa.struct([("b", pa.timestamp("ms"))])),
            "array<struct<b: timestamp>>",
            f"column a[].b is {NO_ZONE}, not timestamp",
        ),
        (pa.decimal128(10, 2), "decimal(9,2)", "column a is decimal128(10, 2), not decimal(9,2)"),
        (pa.decimal128(10, 4), "decimal(10,2)", "column a is decimal128(10, 4), not decimal(10,2)"),
        (LONG, "decimal(10,0)", "column a is int64, not decimal(10,0)"),
        (pa.struct([("b", INT)]), "struct<a: int, b: int>", "column a.a is missing"),
        (
            pa.list_(pa.struct([("b", TEXT)])),
            "array<struct<b: int>>",
            "column a[].b is string, not int",
        ),
        (pa.map_(TEXT, TEXT), "map<string, int>", "column a[] is string, not int"),
        (TEXT, "array<string>", "column a is string, not array"),
    ],
)
def test_what_spark_would_read_as_something_else_is_named(
    kind: pa.DataType, ddl: str, said: str
) -> None:
    assert found(f"a {ddl}", ("a", kind)) == [said]


def test_a_column_that_is_missing_is_named_and_one_too_many_is_not() -> None:
    assert found("id int, qty int", ("ID", INT), ("note", TEXT)) == ["column qty is missing"]


def test_columns_without_names_go_by_position() -> None:
    assert found("id int, qty int", ("_col0", INT), ("_col1", INT)) == []
    assert found("id int, qty int", ("_col0", INT), ("_col1", TEXT)) == [
        "column qty is string, not int"
    ]
    assert found("id int, qty int", ("_col0", INT)) == ["column qty is missing"]


WALL = [datetime(2026, 3, 1, 23, 30)]  # noqa: DTZ001 - without a zone


@pytest.mark.parametrize("wanted", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize(
    ("kind", "old", "named"),
    [
        (pa.timestamp("us"), False, "timestamp_ntz"),
        (pa.timestamp("us", "Europe/Berlin"), False, "timestamp"),
        (pa.timestamp("us"), True, "timestamp"),
    ],
)
def test_parquet_tells_an_instant_from_the_time_on_a_wall(
    tmp_path: Path, kind: pa.DataType, old: bool, named: str, wanted: str
) -> None:
    path = tmp_path / "a.parquet"
    inner = pa.array([{"at": WALL}], pa.struct([("at", pa.list_(kind))]))
    columns = {"at": pa.array(WALL, kind), "inner": inner}
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=old)
    types = column_types(f"at {wanted}, inner struct<at: array<{wanted}>>")
    said = [one.split(",")[0] for one in READERS["parquet"].misfits(path, SOURCE, types)]
    others = [f"column at is {named}", f"column inner.at[] is {named}"]
    assert said == ([] if named == wanted else others)


@pytest.mark.parametrize("wanted", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("logical", ["timestamp-micros", "local-timestamp-millis", None])
def test_avro_tells_an_instant_from_the_time_on_a_wall(
    tmp_path: Path, logical: str | None, wanted: str
) -> None:
    path = tmp_path / "a.avro"
    write_avro(path, {"at": ["null", {"type": "long", "logicalType": logical}]}, [])
    named = {"timestamp-micros": "timestamp", "local-timestamp-millis": "timestamp_ntz"}
    said = [*READERS["avro"].misfits(path, SOURCE, column_types(f"at {wanted}"))]
    assert bool(said) is (logical is None or named[logical] != wanted)


DAY = {"type": "int", "logicalType": "date"}
INSTANT = {"type": "long", "logicalType": "timestamp-micros"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "ddl", "said"),
    [
        (DAY, "date", None),
        (DAY, "int", "date"),
        (DAY, "bigint", "date"),
        ("int", "date", "int"),
        ("int", "bigint", None),
        (INSTANT, "bigint", "timestamp"),
        (INSTANT, "date", "long"),
        (MONEY, "decimal(8,2)", None),
        (MONEY, "decimal(8,4)", None),
        (MONEY, "decimal(8,1)", "decimal(6,2)"),
        (MONEY, "decimal(6,3)", "decimal(6,2)"),
    ],
)
def test_avro_that_spark_takes_for_something_else_is_told(
    tmp_path: Path, kind: Any, ddl: str, said: str | None
) -> None:
    path = tmp_path / "a.avro"
    write_avro(path, {"v": ["null", kind]}, [])
    found = [*READERS["avro"].misfits(path, SOURCE, column_types(f"v {ddl}"))]
    assert found == ([] if said is None else [f"column v is {said}, not {ddl}"])

    inner = {"type": "record", "name": "inner", "fields": [{"name": "V", "type": ["null", kind]}]}
    values = {"type": "map", "values": {"type": "array", "items": inner}}
    write_avro(path, {"m": ["null", values]}, [])
    nested = column_types(f"m map<string, array<struct<v: {ddl}>>>")
    found = [*READERS["avro"].misfits(path, SOURCE, nested)]
    assert found == ([] if said is None else [f"column m[][].v is {said}, not {ddl}"])


READ: list[tuple[str, Any, str]] = [
    ("parquet", pa.array([70000], INT), "smallint"),
    ("parquet", None, "int"),
    ("orc", pa.array([2**40], LONG), "int"),
    ("orc", pa.array(["x"]), "int"),
    ("orc", pa.array([1.5]), "int"),
    ("orc", None, "int"),
    ("parquet", pa.array([7], INT), "bigint"),
    ("parquet", pa.array([7], INT), "double"),
    ("orc", pa.array([7], INT), "bigint"),
    ("orc", pa.array([7], INT), "decimal(12,2)"),
    ("orc", pa.array([0.5], pa.float32()), "double"),
]


@pytest.mark.parametrize(("format", "values", "ddl"), READ)
def test_spark_changes_just_the_values_that_do_not_fit(
    tmp_path: Path, spark: Any, format: str, values: pa.Array | None, ddl: str
) -> None:
    columns = {"id": pa.array(["a"])} | ({} if values is None else {"q": values})
    write: Any = pq.write_table if format == "parquet" else orc.write_table
    write(pa.table(columns), str(tmp_path / f"part.{format}"))
    (row,) = spark.read.schema(f"id string, q {ddl}").format(format).load(str(tmp_path)).collect()
    kept = values is not None and row.q is not None and row.q == values[0].as_py()
    fits = not list(misfits(pa.table(columns).schema, column_types(f"id string, q {ddl}")))
    assert fits is kept


@pytest.mark.parametrize(
    ("mark", "found"), [("timestamp", "timestamp"), ("timestamp_ntz", NO_ZONE)]
)
def test_an_orc_file_says_by_sparks_mark_whether_its_times_have_a_zone(
    tmp_path: Path, mark: str, found: str
) -> None:
    path = tmp_path / "a.orc"
    at = pa.field("at", pa.timestamp("ns"), metadata={"spark.sql.catalyst.type": mark})
    orc.write_table(pa.table({"at": [datetime(2026, 3, 1)]}, pa.schema([at])), str(path))  # noqa: DTZ001
    assert orc_misfits(path) == ([] if found == "timestamp" else [found])


def orc_misfits(path: Path) -> list[str]:
    """What is said of the column `at`, which the schema has as timestamp."""
    given = {"format": "orc", "path": "/in", "schema": "at timestamp"}
    source = FileSource.model_validate(given)
    said = READERS["orc"].misfits(path, source, source.types)
    return [NO_ZONE if NO_ZONE in one else one for one in said]


def test_spark_marks_the_times_that_it_writes_to_orc(tmp_path: Path, spark: Any) -> None:
    for kind, expected in (("timestamp", []), ("timestamp_ntz", [NO_ZONE])):
        folder = tmp_path / kind
        spark.sql(f"SELECT {kind}'2026-03-01 12:30:00' AS at").write.orc(str(folder))
        (path,) = folder.glob("*.orc")
        assert orc_misfits(path) == expected
