"""What a Parquet footer says, and what it must not be believed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.file_formats.parquet import (
    Footer,
    MissingDataFile,
    TornParquet,
    read_footer,
    read_footers,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "part-0.parquet"


def footer_of(file: Path, columns: dict[str, Any], **options: Any) -> Footer:
    pq.write_table(pa.table(columns), file, **options)
    return read_footer(file)


def bounds_of(file: Path, values: list[Any], kind: pa.DataType, **options: Any) -> Any:
    footer = footer_of(file, {"c": pa.array(values, kind)}, **options)
    assert footer.min_values.keys() == footer.max_values.keys()
    return (footer.min_values["c"], footer.max_values["c"]) if footer.min_values else None


def test_rows_and_sizes_are_those_of_all_row_groups(file: Path) -> None:
    footer = footer_of(file, {"i": list(range(25))}, row_group_size=10)
    metadata = pq.read_metadata(file)
    assert metadata.num_row_groups == 3
    assert footer.rows == 25
    assert footer.size == file.stat().st_size
    assert footer.uncompressed_bytes == sum(
        metadata.row_group(number).total_byte_size for number in range(3)
    )
    assert footer.schema == pa.schema({"i": pa.int64()})


def test_uncompressed_bytes_are_not_those_on_disk(file: Path) -> None:
    columns = {"s": ["the same again"] * 10_000}
    footer = footer_of(file, columns, compression="zstd", use_dictionary=False)
    assert footer.uncompressed_bytes > 100_000 > footer.size


def test_nulls_are_counted_over_all_row_groups(file: Path) -> None:
    footer = footer_of(file, {"i": [None, 1, None, 2, 3], "j": [1] * 5}, row_group_size=2)
    assert footer.null_counts == {"i": 2, "j": 0}


def test_a_file_without_statistics_counts_no_nulls(file: Path) -> None:
    footer = footer_of(file, {"i": [None, 1]}, write_statistics=False)
    assert footer.null_counts == {"i": None}
    assert footer.min_values == {}


def test_a_file_without_rows_has_no_bounds(file: Path) -> None:
    footer = footer_of(file, {"i": pa.array([], pa.int64())})
    assert (footer.rows, footer.uncompressed_bytes, footer.null_counts) == (0, 0, {"i": 0})
    assert footer.min_values == {}


NOON = datetime(2024, 2, 29, 12, 34, 56, 123456)  # noqa: DTZ001 - a timestamp without a zone


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([-1, 0, 1], pa.int8()),
        ([-1, 0, 2**63 - 1], pa.int64()),
        ([Decimal("-0.01"), Decimal("1.00")], pa.decimal128(5, 2)),
        ([Decimal("-1234567890123456789012.34"), Decimal("0.00")], pa.decimal128(30, 2)),
        ([date(1, 1, 1), date(2024, 2, 29)], pa.date32()),
        ([NOON.replace(year=1960), NOON], pa.timestamp("us")),
        ([NOON.replace(tzinfo=UTC, year=4), NOON.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")),
        (["", "Z", "é", "日"], pa.string()),
        (["a" * 33, "b" * 2000], pa.string()),
        ([False, True], pa.bool_()),
    ],
)
def test_types_that_cannot_mislead_have_bounds(file: Path, values: list[Any], kind: Any) -> None:
    assert bounds_of(file, [*values, None], kind) == (values[0], values[-1])
    assert bounds_of(file, values[::-1], kind, row_group_size=1) == (values[0], values[-1])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5], pa.float64()),
        ([1.5, float("nan")], pa.float32()),
        ([b"a", b"b"], pa.binary()),
        ([NOON.replace(microsecond=0)], pa.timestamp("ms")),
        ([NOON], pa.timestamp("ns")),
    ],
)
def test_types_that_may_mislead_have_none(file: Path, values: list[Any], kind: Any) -> None:
    assert bounds_of(file, values, kind) is None


def test_a_row_group_of_nulls_needs_no_bounds(file: Path) -> None:
    assert bounds_of(file, [None, None, 1, 2], pa.int64(), row_group_size=2) == (1, 2)


def test_a_column_of_nulls_has_no_bounds(file: Path) -> None:
    footer = footer_of(file, {"i": pa.array([None, None], pa.int64())})
    assert footer.null_counts == {"i": 2}
    assert footer.min_values == {}


def test_a_date_beyond_pythons_has_no_bounds(file: Path) -> None:
    year_20000 = 6_585_442
    assert bounds_of(file, [0, year_20000], pa.date32()) is None


def test_columns_inside_others_are_left_out(file: Path) -> None:
    footer = footer_of(
        file, {"s": [{"i": 1}], "l": [[1]], "m": pa.array([[("k", 1)]], pa.map_("string", "int32"))}
    )
    assert footer.null_counts == {}
    assert footer.min_values == {}
    assert footer.schema.names == ["s", "l", "m"]


def test_a_name_with_a_dot_is_a_column_of_its_own(file: Path) -> None:
    footer = footer_of(file, {"a": [{"b": 1}], "a.b": [7]})
    assert footer.min_values == {"a.b": 7}


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=40)), min_size=1),
    st.integers(min_value=1, max_value=5),
)
def test_bounds_hold_for_every_string(
    tmp_path_factory: pytest.TempPathFactory, values: list[str | None], row_group_size: int
) -> None:
    file = tmp_path_factory.mktemp("strings") / "part-0.parquet"
    bounds = bounds_of(file, values, pa.string(), row_group_size=row_group_size)
    if bounds is not None:
        assert all(bounds[0] <= value <= bounds[1] for value in values if value is not None)


@pytest.mark.parametrize("kept", [0, 3, 100, -8, -1])
def test_a_torn_file_is_refused(file: Path, kept: int) -> None:
    pq.write_table(pa.table({"i": [1, 2]}), file)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(TornParquet) as refused:
        read_footer(file)
    assert (refused.value.file, refused.value.size) == (file, file.stat().st_size)


def test_a_file_of_another_kind_is_refused(file: Path) -> None:
    file.write_text("id,name\n" * 10)
    with pytest.raises(TornParquet):
        read_footer(file)


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(MissingDataFile) as refused:
        read_footer(file)
    assert refused.value.file == file


def test_footers_come_in_the_order_of_their_files(tmp_path: Path) -> None:
    files = [tmp_path / f"part-{rows}.parquet" for rows in (7, 3, 5)]
    for file, rows in zip(files, (7, 3, 5), strict=True):
        pq.write_table(pa.table({"i": list(range(rows))}), file)
    assert [footer.rows for footer in read_footers(files, threads=2)] == [7, 3, 5]
    assert read_footers([]) == ()


def test_one_torn_file_refuses_them_all(tmp_path: Path) -> None:
    files = [tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"]
    pq.write_table(pa.table({"i": [1]}), files[0])
    files[1].touch()
    with pytest.raises(TornParquet) as refused:
        read_footers(files)
    assert refused.value.file == files[1]
