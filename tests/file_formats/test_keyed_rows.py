"""Rows with the same keys are found in any type, across files, partitions and chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemill.file_formats import parquet_rows
from tidemill.file_formats.keyed_rows import (
    KeyedFile,
    doubled,
    last_of_each,
    rows_at,
    with_keys_of,
)

HOUR = datetime(2024, 1, 1, 5, tzinfo=UTC)
SCHEMA = pa.schema([("word", pa.string()), ("n", pa.int64())])
WORD = pa.schema([("word", pa.string())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Whose name holds what is special to a glob."""
    path = tmp_path / "a[1]*?%20"
    path.mkdir()
    return path


def write(
    folder: Path,
    rows: Sequence[tuple[Any, ...]],
    schema: pa.Schema = SCHEMA,
    partition: Mapping[str, str | None] | None = None,
) -> KeyedFile:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    pq.write_table(pa.Table.from_pylist(named, schema), path)
    return KeyedFile(path, partition or {})


def kept(files: Sequence[KeyedFile], keys: pa.Schema = WORD) -> list[tuple[Any, ...]]:
    places = last_of_each(files, keys)
    return [
        tuple(row.values())
        for number, places_ in places.items()
        for chunk in rows_at(files[number], places_, SCHEMA)
        for row in chunk.to_pylist()
    ]


def test_the_last_row_of_each_key_is_that_of_the_last_file(folder: Path) -> None:
    files = [
        write(folder, [("a", 1), ("b", 1), (None, 1)]),
        write(folder, [("b", 2), ("c", 2)]),
        write(folder, []),
        write(folder, [(None, 3), ("c", 3)]),
    ]

    assert kept(files) == [("a", 1), ("b", 2), (None, 3), ("c", 3)]


def test_nothing_is_the_last_of_nothing(folder: Path) -> None:
    assert kept([]) == []
    assert kept([write(folder, [])]) == []


def test_chunks_do_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "CHUNK_ROWS", 3)
    files = [
        write(folder, [(str(number), 1) for number in range(10)]),
        write(folder, [(str(number), 2) for number in range(0, 10, 2)]),
    ]

    found = kept(files)

    assert found == [(str(n), 1) for n in (1, 3, 5, 7, 9)] + [(str(n), 2) for n in (0, 2, 4, 6, 8)]
    places = last_of_each(files, WORD)
    others = [row for c in rows_at(files[0], places[0], SCHEMA, inverted=True) for row in c["n"]]
    assert len(others) == 5
    twice = write(folder, [*((str(number), 1) for number in range(9)), ("7", 2)])
    found_twice = doubled([twice], WORD)
    assert found_twice is not None
    assert found_twice.key == {"word": "7"}


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (pa.timestamp("us", "UTC"), HOUR, HOUR.replace(hour=6)),
        (pa.timestamp("us"), HOUR.replace(tzinfo=None), HOUR.replace(tzinfo=None, hour=6)),
        (pa.date32(), date(2024, 1, 1), date(1, 1, 1)),
        (pa.decimal128(38, 9), Decimal("1.000000001"), Decimal("1.000000002")),
        (pa.float64(), float("nan"), 0.5),
        (pa.binary(), b"\x00", b""),
        (pa.bool_(), True, False),
        (pa.struct([("start", pa.date32())]), {"start": None}, {"start": date(2024, 1, 1)}),
        (pa.list_(pa.int8()), [1, None], [1]),
    ],
)
def test_a_key_of_any_type_is_told_from_another(
    folder: Path, kind: pa.DataType, one: object, other: object
) -> None:
    schema = pa.schema([("key", kind), ("n", pa.int64())])
    keys = pa.schema([("key", kind)])

    assert doubled([write(folder, [(one, 1), (other, 1)], schema)], keys) is None
    found = doubled([write(folder, [(one, 1), (other, 1), (one, 2)], schema)], keys)
    assert found is not None
    assert found.rows == 2
    assert str(found.key["key"]) == str(one)


def test_a_partition_column_is_a_key_like_others(folder: Path) -> None:
    keys = pa.schema([("word", pa.string()), ("day", pa.date32())])
    first = write(folder, [("a", 1)], partition={"day": "2024-01-01"})
    second = write(folder, [("a", 2)], partition={"day": "2024-01-02"})

    assert doubled([first, second], keys) is None
    found = doubled([first, second, KeyedFile(first.path, first.partition)], keys)
    assert found is not None
    assert found.key == {"word": "a", "day": date(2024, 1, 1)}


def test_null_is_a_key_like_others(folder: Path) -> None:
    keys = pa.schema([("word", pa.string()), ("n", pa.int64())])
    first = write(folder, [("a", None), (None, None), ("a", 1)])
    second = write(folder, [(None, None), ("a", None)])

    assert doubled([first], keys) is None
    found = doubled([first, second], keys)
    assert found is not None
    assert found.key["n"] is None
    assert {n: rows.to_pylist() for n, rows in with_keys_of([first], [second], keys).items()} == {
        0: [0, 1]
    }


def test_rows_that_others_replace_are_found_null_among_them(folder: Path) -> None:
    published = [write(folder, [("a", 1), (None, 1), ("b", 1)]), write(folder, [("c", 1)])]
    incoming = [write(folder, [("b", 2), ("x", 2)]), write(folder, [(None, 2)])]

    found = with_keys_of(published, incoming, WORD)

    assert {number: rows.to_pylist() for number, rows in found.items()} == {0: [1, 2]}


def test_a_key_of_a_year_that_python_does_not_have_is_named_as_text(folder: Path) -> None:
    days = pa.array([3_652_059 + 365 * 2_000] * 2, pa.int32()).cast(pa.date32())
    instants = pa.array([400_000_000_000_000_000] * 2, pa.timestamp("us", "UTC"))
    table = pa.table({"day": days, "at": instants, "n": [1, 1]})
    path = folder / "far.parquet"
    pq.write_table(table, path)
    twice = doubled([KeyedFile(path, {})], table.schema)
    assert twice is not None
    assert twice.rows == 2
    assert {name: str(value)[:5] for name, value in twice.key.items()} == {
        "day": "13967",
        "at": "14645",
        "n": "1",
    }
