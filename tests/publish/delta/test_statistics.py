"""Statistics in the Delta log: readers skip files by them, and must not miss a row."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import Schema
from deltalake.transaction import AddAction, create_table_with_add_actions
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.histories.history_builder import COLUMNS, History, row
from tidemill.file_formats.delta import open_dataset
from tidemill.file_formats.parquet import read_footer
from tidemill.publish.delta.statistics import delta_statistics

STRINGS = st.one_of(
    st.text(max_size=5),
    st.text(min_size=30, max_size=40),
    st.sampled_from(
        ["", "\0", "\x7f", "\u07ff", "\uffff", "\U0010ffff", "\U0010ffff" * 33, '"\\\n']
    ),
)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - made UTC below

# Arrow type -> the values of a column, nulls aside.
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "byte": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "money": (
        pa.decimal128(10, 2),
        st.decimals(Decimal("-99999999.99"), Decimal("99999999.99"), places=2),
    ),
    "wide": (
        pa.decimal128(38, 10),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10")),
    ),
    "date": (pa.date32(), st.dates()),
    "time": (pa.timestamp("us", "UTC"), TIMES.map(lambda at: at.replace(tzinfo=UTC))),
    "string": (pa.string(), STRINGS),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "boolean": (pa.bool_(), st.booleans()),
    "binary": (pa.binary(), st.binary(max_size=4)),
}
BOUNDED = set(KINDS) - {"float", "double", "binary"}
EXACT = ("byte", "short", "int", "long", "money", "wide")
Files = list[list[Any]]


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, Files]:
    """The values of one column in two or three files."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    values = st.lists(st.none() | KINDS[kind][1], min_size=1, max_size=4)
    return kind, draw(st.lists(values, min_size=2, max_size=3))


@contextmanager
def table_of(kind: str, files: Files, *, ours: bool = True) -> Iterator[Path]:
    """A Delta table of a column `x` and a row number; without `ours`, its statistics only count."""
    schema = pa.schema([("id", pa.int64()), ("x", KINDS[kind][0])])
    with TemporaryDirectory() as folder:
        actions = []
        for number, values in enumerate(files):
            path = Path(folder) / f"{number}.parquet"
            ids = range(10 * number, 10 * number + len(values))
            pq.write_table(
                pa.Table.from_arrays(
                    [pa.array(ids), pa.array(values, schema.field(1).type)], schema=schema
                ),
                path,
            )
            said = delta_statistics(read_footer(path), schema.names)
            if not ours:
                said = json.dumps({"numRecords": len(values)})
            actions.append(AddAction(path.name, path.stat().st_size, {}, 0, True, said))
        create_table_with_add_actions(folder, Schema.from_arrow(schema), actions)
        yield Path(folder)


def arrow_finds(path: Path, kind: str, literals: list[Any]) -> list[int]:
    """How many rows each filter leaves."""
    x, rows = pc.field("x"), open_dataset(path)
    filters = [x.is_null(), ~x.is_null(), pc.field("id") >= 10]
    for value in literals:
        literal = pa.scalar(value, KINDS[kind][0])
        filters += [x == literal, x >= literal, x < literal]
    return [rows.to_table(filter=chosen).num_rows for chosen in filters]


def polars_finds(path: Path, literals: list[Any]) -> list[int]:
    """How many rows each filter leaves."""
    x, rows = pl.col("x"), pl.scan_delta(str(path))
    filters = [x.is_null(), x.is_not_null(), pl.col("id") >= 10]
    for value in literals:
        literal = pl.lit(value, dtype=rows.collect_schema()["x"])
        filters += [x == literal, x >= literal, x < literal]
    return [frame.height for frame in pl.collect_all([rows.filter(f) for f in filters])]


@settings(max_examples=50, deadline=None)
@given(columns())
@example(("double", [[None], [0.0]]))
@example(("double", [[math.nan], [1.0]]))
@example(("string", [["\U00020000"], ["a"]]))
@example(("string", [["a" * 40], ["a" * 32 + "\U0010ffff"], ["a" * 32]]))
@example(("boolean", [[True], [None, False]]))
def test_a_filter_finds_what_it_finds_without_our_statistics(column: tuple[str, Files]) -> None:
    kind, files = column
    literals = [value for values in files for value in values if value is not None][:3]
    with table_of(kind, files) as ours, table_of(kind, files, ours=False) as bare:
        assert arrow_finds(ours, kind, literals) == arrow_finds(bare, kind, literals)
        assert polars_finds(ours, literals) == polars_finds(bare, literals)


@pytest.mark.parametrize("text", ["\U0001f600", "\U00020000", "\uffff", "\0", '"', "\\", "é"])
def test_no_letter_is_lost_between_us_and_a_reader(text: str) -> None:
    with table_of("string", [[text], ["a"]]) as path:
        assert polars_finds(path, [text])[3] == 1
        assert arrow_finds(path, "string", [text])[3] == 1


@settings(max_examples=100, deadline=None)
@given(columns())
def test_counts_are_exact_and_bounds_hold(column: tuple[str, Files]) -> None:
    kind, files = column
    for values in files:
        with TemporaryDirectory() as folder:
            said = statistics_of(values, KINDS[kind][0], Path(folder) / "x.parquet")
        present = [value for value in values if value is not None]
        assert said["numRecords"] == len(values)
        assert said["nullCount"]["x"] == len(values) - len(present)
        least, most = said.get("minValues", {}), said.get("maxValues", {})
        assert least.keys() == most.keys()
        assert kind in BOUNDED or not least
        if kind in EXACT and present:
            assert (Decimal(least["x"]), Decimal(most["x"])) == (min(present), max(present))
        if kind == "string" and least:
            assert least["x"] <= min(present) <= max(present) <= most["x"]
            assert max(len(least["x"]), len(most["x"])) <= 33


def statistics_of(values: list[Any], kind: pa.DataType, path: Path) -> dict[str, Any]:
    pq.write_table(pa.table({"x": pa.array(values, kind)}), path)
    text = delta_statistics(read_footer(path), ["x"])
    said: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return said


def said_of(columns: dict[str, pa.Array], path: Path, *more: str) -> dict[str, Any]:
    pq.write_table(pa.table(columns), path)
    said: dict[str, Any] = json.loads(delta_statistics(read_footer(path), [*columns, *more]))
    return said


def test_one_column_without_bounds_takes_those_of_the_whole_file(tmp_path: Path) -> None:
    # deltalake compares a column without bounds with null where others have some: no row is found.
    path = tmp_path / "x.parquet"
    id_, ratio = pa.array([1, 2]), pa.array([1.5, None])
    assert said_of({"id": id_}, path)["maxValues"] == {"id": 2}
    said = said_of({"id": id_, "ratio": ratio}, path)
    assert said == {"numRecords": 2, "nullCount": {"id": 0, "ratio": 1}}


@pytest.mark.parametrize(
    "harmless",
    [
        pa.array([None, None], pa.float64()),
        pa.array([b"a", b"b"]),
        pa.array([{"ratio": 1.5}, None]),
        pa.array([[1.5], []]),
    ],
    ids=["nulls", "binary", "struct", "list"],
)
def test_columns_that_nobody_skips_by_take_none(harmless: pa.Array, tmp_path: Path) -> None:
    said = said_of({"id": pa.array([1, 2]), "x": harmless}, tmp_path / "x.parquet")
    assert said["minValues"] == {"id": 1}


def test_a_column_that_a_file_lacks_is_null_in_it(tmp_path: Path) -> None:
    said = said_of({"id": pa.array([1, 2])}, tmp_path / "x.parquet", "added")
    assert said["nullCount"] == {"id": 0, "added": 2}
    assert said["maxValues"] == {"id": 2}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    "values", [[1.0, 2.0], [math.nan, 1.0], [math.inf, -math.inf], [-0.0, 0.0]]
)
def test_floating_point_has_no_bounds(
    kind: pa.DataType, values: list[float], tmp_path: Path
) -> None:
    said = statistics_of(values, kind, tmp_path / "x.parquet")
    assert said == {"numRecords": 2, "nullCount": {"x": 0}}


def test_the_bounds_of_a_decimal_are_exact_to_the_last_digit(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    least, greatest = Decimal("-9999999999999999999999999999.9999999999"), Decimal("0E-10")
    pq.write_table(pa.table({"x": pa.array([least, greatest], pa.decimal128(38, 10))}), path)
    text = delta_statistics(read_footer(path), ["x"])
    assert '"x":-9999999999999999999999999999.9999999999' in text
    assert json.loads(text, parse_float=Decimal)["maxValues"]["x"] == greatest


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (
            pa.timestamp("us", "UTC"),
            datetime(2024, 2, 29, 1, 2, 3, 4, UTC),
            "2024-02-29T01:02:03.000004Z",
        ),
        (pa.timestamp("us", "UTC"), datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (pa.timestamp("us"), datetime(2024, 2, 29), "2024-02-29T00:00:00.000000"),  # noqa: DTZ001
        (pa.date32(), date(1, 1, 1), "0001-01-01"),
        (pa.date32(), date(9999, 12, 31), "9999-12-31"),
        (pa.string(), 'é\n"', 'é\n"'),
        (pa.string(), "x" * 32, "x" * 32),
        (pa.timestamp("ms", "UTC"), datetime(2024, 2, 29, tzinfo=UTC), None),
        (pa.timestamp("ns", "UTC"), datetime(2024, 2, 29, tzinfo=UTC), None),
    ],
)
def test_how_a_bound_is_written(
    kind: pa.DataType, value: Any, text: str | None, tmp_path: Path
) -> None:
    said = statistics_of([value], kind, tmp_path / "x.parquet")
    assert said.get("minValues", {}).get("x") == said.get("maxValues", {}).get("x") == text


def test_a_long_string_is_bounded_by_shorter_ones(tmp_path: Path) -> None:
    said = statistics_of(["x" * 40, "y" * 40], pa.string(), tmp_path / "x.parquet")
    assert said["minValues"] == {"x": "x" * 32}
    assert said["maxValues"] == {"x": "y" * 32 + "\U0010ffff"}


def test_a_string_that_nothing_short_exceeds_has_no_bounds(tmp_path: Path) -> None:
    said = statistics_of(["\U0010ffff" * 33], pa.string(), tmp_path / "x.parquet")
    assert "maxValues" not in said


def test_columns_that_are_not_the_tables_are_left_out(history: History) -> None:
    history.increment([row(1), row(2, text=None)])
    history.publish()
    (add,) = [
        json.loads(line)["add"]
        for line in (history.layout.table / "_delta_log" / history.log()[0])
        .read_text()
        .splitlines()
        if "add" in json.loads(line)
    ]
    said = json.loads(add["stats"])
    assert said["numRecords"] == 2
    assert set(said["nullCount"]) == set(COLUMNS.names)
    assert said["nullCount"]["text"] == 1
    assert said["minValues"] == {
        "id": 1,
        "amount": 1.25,
        "at": "2024-01-01T12:00:00.000000Z",
        "text": "row 1",
    }
