"""A published table keeps the promises of a data source, and reads what versions add."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from tests.support.delta_orders import DDL, DeltaOrders
from tidemill.data_sources.kit import CHECKS
from tidemill.data_sources.subject import Reading, Subject
from tidemill.engine.sources import published_table
from tidemill.engine.sources.published_table import PublishedTable
from tidemill.engine.sources.table import send_by_value
from tidemill.file_formats.delta_changes import (
    AddedFile,
    LeftOutRowsRewritten,
    files_at,
    files_standing,
    table_head,
)


@pytest.fixture
def table(tmp_path: Path) -> DeltaOrders:
    return DeltaOrders(tmp_path / "table")


def grow(table: DeltaOrders, number: int) -> None:
    table.add(number, day=2)


def subject(
    table: DeltaOrders,
    *,
    holds_swaps: bool = True,
    files: int | None = None,
    size: int | None = None,
) -> Subject:
    numbers = count(100)
    held = json.dumps({"versions": [], "after": -1} if holds_swaps else None)
    limits = json.dumps({"files": files, "bytes": size})
    options = {"path": str(table.path), "held_swaps": held, "limits": limits}
    return Subject(PublishedTable, options, DDL, lambda: grow(table, next(numbers)))


@pytest.mark.parametrize("files", [None, 1])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(
    table: DeltaOrders, monkeypatch: pytest.MonkeyPatch, check: Any, files: int | None
) -> None:
    monkeypatch.setattr(published_table, "TASK_BYTES", 1)
    table.add(1, 2)
    table.add(3)
    check(subject(table, files=files))


def batches(tried: Subject, offset: dict[str, Any]) -> list[list[int]]:
    """The ids that each batch reads after an offset, up to what is there now."""
    reading = Reading(tried)
    reading.prepare()
    found = []
    while (end := reading.latest(offset, rows=1)) != offset:
        found.append(sorted(row[0] for row in reading.rows(offset, end)))
        offset = end
    return found


def test_a_batch_takes_as_many_whole_versions_as_its_limits_allow(table: DeltaOrders) -> None:
    table.add(1)
    table.add(2)
    table.add(3)
    (first, *_) = files_at(table.path, table.version)
    one_each = [[1], [2], [3]]
    assert batches(subject(table), {}) == [[1, 2, 3]]
    assert batches(subject(table, files=2), {}) == [[1, 2], [3]]
    assert batches(subject(table, files=1), {}) == one_each
    assert batches(subject(table, size=1), {}) == one_each
    assert batches(subject(table, size=2 * first.size), {}) == [[1, 2], [3]]
    assert batches(subject(table, files=2, size=1), {}) == one_each
    assert batches(subject(table, files=1, size=10 * first.size), {}) == one_each


def test_a_version_with_more_files_than_the_limit_is_read_whole(table: DeltaOrders) -> None:
    table.add(1)
    table.add_a_day_each(2, 3)
    table.add(4)
    assert batches(subject(table, files=1), {}) == [[1], [2, 3], [4]]


def test_the_trigger_once_takes_everything_in_one_batch(table: DeltaOrders) -> None:
    table.add(1)
    table.add(2)
    reading = Reading(subject(table, files=1))
    assert [row[0] for row in reading.rows({}, reading.latest({}))] == [1, 2]


@pytest.mark.parametrize("change", [lambda t: t.swap(10), lambda t: t.compact()])
def test_a_first_batch_reads_all_that_swaps_and_compactions_have_left(
    table: DeltaOrders, change: Callable[[DeltaOrders], int]
) -> None:
    table.add(1)
    table.add(2, day=2)
    table.add(3, day=2)
    standing = sorted(ids(files_at(table.path, change(table))))
    table.add(4)
    table.add(5)
    assert batches(subject(table, files=1), {}) == [standing, [4], [5]]


def test_a_first_batch_of_a_table_that_was_emptied_has_no_rows_and_the_next_goes_on(
    table: DeltaOrders,
) -> None:
    table.add(1)
    emptied = table.swap()
    tried = subject(table)
    assert Reading(tried).latest({}) == {table.id: {"0": emptied + 1}}
    assert batches(tried, {}) == [[]]
    table.add(2)
    assert batches(tried, {table.id: {"0": emptied + 1}}) == [[2]]
    assert batches(tried, {}) == [[2]]


def test_a_limited_batch_ends_before_a_swap_that_comes_next(table: DeltaOrders) -> None:
    table.add(1)
    tried = subject(table, files=1, holds_swaps=False)
    start = Reading(tried).latest({}, rows=1)
    second = table.add(2)
    table.swap(10)
    table.add(3)
    end = Reading(tried).latest(start, rows=1)
    assert end == {table.id: {"0": second + 1}}
    assert batches(tried, end) == [[3]]


@pytest.mark.parametrize("holds_swaps", [True, False])
def test_a_swap_stops_it_or_is_passed_over(table: DeltaOrders, holds_swaps: bool) -> None:
    table.add(1)
    tried = subject(table, holds_swaps=holds_swaps)
    start = Reading(tried).latest(Reading(tried).initial())
    table.swap(10)
    table.add(2)
    end = Reading(tried).latest(start)
    rows = Reading(tried).rows(start, end)
    assert [row[0] for row in rows] == ([] if holds_swaps else [2])


def test_swaps_that_were_accounted_for_stop_it_no_more(table: DeltaOrders) -> None:
    table.add(1)
    start = Reading(subject(table)).latest({})
    swap = table.swap(10)
    table.add(2)
    options = subject(table).options
    for held, read in (([], [2]), ([swap], [])):
        told = json.dumps({"versions": held, "after": swap})
        reading = Reading(Subject(PublishedTable, {**options, "held_swaps": told}, DDL))
        rows = reading.rows(start, reading.latest(start))
        assert [row[0] for row in rows] == read


def ids(files: Iterable[AddedFile]) -> Counter[int]:
    tables = (pq.ParquetFile(file.path).read(columns=["id"]) for file in files)
    return Counter(number for table in tables for number in table.column("id").to_pylist())


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(("add", "add", "swap", "compact", "read")), max_size=10))
def test_however_a_table_grows_each_row_comes_once_and_a_recomputation_reads_what_stands(
    tmp_path_factory: pytest.TempPathFactory, history: list[str]
) -> None:
    table = DeltaOrders(tmp_path_factory.mktemp("history") / "table")
    numbers = count()
    table.add(next(numbers))
    offset: dict[str, Any] = {}
    read, expected = Counter[int](), Counter(ids(files_at(table.path, 0)))
    for step in [*history, "read"]:
        if step == "read":
            reading = Reading(subject(table, holds_swaps=False))
            end = reading.latest(offset)
            read += Counter(row[0] for row in reading.rows(offset, end))
            offset = end
            assert read == expected
            head = table_head(table.path)
            assert head is not None
            stands = ids(files_standing(table.path, head, [(0, end[table.id]["0"])]))
            assert stands == Counter(DeltaTable(table.path).to_pyarrow_table()["id"].to_pylist())
        elif step == "add":
            number = next(numbers)
            table.add(number, day=1 + number % 2)
            expected[number] += 1
        elif step == "swap":
            table.swap(next(numbers))
            if not offset:
                expected = ids(files_at(table.path, table.version))
        else:
            table.compact()


def test_what_was_rejected_here_stays_out_and_what_was_swapped_there_comes_in(
    table: DeltaOrders,
) -> None:
    table.add(1)
    rejected = table.add(2, day=2)
    table.swap(10)
    end = table.add(3, day=3) + 1
    head = table_head(table.path)
    assert head is not None
    counting = [(0, rejected), (rejected + 1, end)]
    assert {*ids(files_standing(table.path, head, counting))} == {10, 3}
    assert {*ids(files_standing(table.path, head, [(rejected, end)]))} == {2, 3}


def test_rows_that_are_left_out_are_not_read_from_a_file_that_compaction_wrote(
    table: DeltaOrders,
) -> None:
    table.add(1)
    rejected = table.add(2)
    end = table.add(3) + 1
    compacted = table.compact()
    head = table_head(table.path)
    assert head is not None
    assert {*ids(files_standing(table.path, head, [(0, end)]))} == {1, 2, 3}
    with pytest.raises(LeftOutRowsRewritten) as error:
        files_standing(table.path, head, [(0, rejected), (rejected + 1, end)])
    assert error.value.data["version"] == compacted


def test_columns_that_the_schema_does_not_name_are_left_out(table: DeltaOrders) -> None:
    table.add(1, day=3)
    reading = Reading(Subject(PublishedTable, subject(table).options, "day date"))
    assert reading.rows({}, reading.latest({})) == [(date(2026, 3, 3),)]


# As Spark does: one process plans, in the driver's environment, and workers read in their own.
PLAN = f"""
import json, sys; from pathlib import Path; from pyspark import cloudpickle
from tidemill.data_sources.subject import struct_of
source = cloudpickle.loads(Path("source").read_bytes())
if sys.argv[1] == "stream":
    reader = source.streamReader(struct_of({DDL!r}))
    parts = reader.partitions({{}}, reader.latestOffset({{}}, reader.getDefaultReadLimit()))
else:
    reader = source.reader(struct_of({DDL!r}))
    parts = reader.partitions()
Path("planned").write_bytes(cloudpickle.dumps((source, reader.read, parts)))
"""
WORK = """
import sys; sys.modules["tidemill"] = None
from pathlib import Path; from pyspark import cloudpickle
_, read, parts = cloudpickle.loads(Path("planned").read_bytes())
print([id for part in parts for batch in read(part) for id in batch.column("id").to_pylist()])
"""


@pytest.mark.parametrize("way", ["stream", "batch"])
def test_a_worker_reads_without_tidemill(table: DeltaOrders, tmp_path: Path, way: str) -> None:
    table.add(1, 2)
    files = [{file.path: dict(file.partition)} for file in files_at(table.path, table.version)]
    options = {**subject(table).options, "files": json.dumps(files)}
    send_by_value()
    (tmp_path / "source").write_bytes(cloudpickle.dumps(PublishedTable(options)))

    subprocess.run([sys.executable, "-c", PLAN, way], cwd=tmp_path, check=True)
    said = subprocess.run([sys.executable, "-c", WORK], cwd=tmp_path, capture_output=True)

    assert said.stdout.decode().strip() == "[1, 2]", said.stderr.decode()
