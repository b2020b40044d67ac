"""Footers say what a scan would find, and nothing where a scan might find something else."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.parquet_sink import spark_schema, write_file
from tidemill.file_formats.written_format import WriteFormat
from tidemill.gate.columns import parse_columns
from tidemill.gate.footers import known_metrics
from tidemill.gate.sample import SampleFile

NULLS = "column_values.nonnull.unexpected_count"


def known_of(folder: Path, *tables: pa.Table) -> dict[Any, Any]:
    files = [write_file(table, folder, name=f"part-{n}") for n, table in enumerate(tables)]
    columns = {field.name: field.type for field in tables[0].schema}
    return dict(known_metrics(files, parse_columns(spark_schema(columns))))


def test_rows_nulls_and_extremes_are_those_of_all_files(tmp_path: Path) -> None:
    first = pa.table({"n": [3, None], "price": [Decimal("1.50"), Decimal("2.00")]})
    second = pa.table({"n": [7, 5, 4], "price": [None, Decimal("0.25"), None]}, first.schema)
    known = known_of(tmp_path, first, second)
    assert known["table.row_count", None] == 5
    assert (known[NULLS, "n"], known[NULLS, "price"]) == (1, 2)
    assert (known["column.min", "n"], known["column.max", "n"]) == (3, 7)
    assert (known["column.min", "price"], known["column.max", "price"]) == (0.25, 2.0)


def test_a_file_of_nulls_hides_no_extreme_of_another(tmp_path: Path) -> None:
    schema = pa.schema({"n": pa.int64()})
    nulls, some = pa.table({"n": [None, None]}, schema), pa.table({"n": [2]}, schema)
    known = known_of(tmp_path, nulls, some)
    assert (known["column.min", "n"], known["column.max", "n"], known[NULLS, "n"]) == (2, 2, 2)


def test_what_a_footer_may_round_or_cut_off_is_left_to_a_scan(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "level": [1.5, math.nan],
            "name": ["a" * 100, "b"],
            "day": [date(1500, 1, 1), date(2026, 3, 1)],
        }
    )
    known = known_of(tmp_path, rows)
    # A NaN is judged as null, which the footer does not count.
    assert (NULLS, "level") not in known
    assert known[NULLS, "name"] == 0
    assert [key for key in known if key[0] in ("column.min", "column.max")] == []


def test_files_without_statistics_or_of_another_format_say_nothing_of_a_column(
    tmp_path: Path,
) -> None:
    plain = write_file(pa.table({"n": [1]}), tmp_path)
    pq.write_table(pq.read_table(plain.path, partitioning=None), plain.path, write_statistics=False)
    columns = parse_columns(spark_schema({"n": pa.int64()}))
    assert known_metrics([plain], columns) == {("table.row_count", None): 1}
    other = SampleFile(plain.path, plain.sink, {}, WriteFormat(format="csv"))
    assert known_metrics([plain, other], columns) == {}
