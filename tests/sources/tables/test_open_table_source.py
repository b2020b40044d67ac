"""A look at another pipeline's table: what is new in it, and what of it was changed since."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.batches import batch_of
from tests.support.delta_orders import DDL, DeltaOrders
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.remedies import carry_out
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_changes import HistoryExpired, files_at
from tidemill.ledger.batch import Batch
from tidemill.sources.kinds import open_source
from tidemill.sources.open_source import OpenSource
from tidemill.sources.probe_result import ProbeResult
from tidemill.sources.tables.batches import BatchLimits, TableBatches
from tidemill.sources.tables.open_table_source import SwapNotReplayed
from tidemill.spark_logs.offset_ranges import Range

SOURCE = {"kind": "table", "pipeline": "orders", "schema": DDL}


@pytest.fixture
def table(tmp_path: Path) -> DeltaOrders:
    return DeltaOrders(Layout(tmp_path / "root", "orders").table)


def pipeline_of(home: Path, **more: Any) -> JsonPipeline:
    spec = {"sources": {"orders": {**SOURCE, **more}}}
    transform = "def transform(orders):\n    return orders\n"
    return JsonPipeline(home, {}, spec, transform, name="reports")


def source(home: Path, **more: Any) -> OpenSource[Any]:
    return open_source(pipeline_of(home, **more).pipeline, "orders")


def read_until(table: DeltaOrders, version: int) -> Batch:
    """A batch that has read the table up to a version."""
    return batch_of(0, offsets={"orders": {table.id: {"0": version + 1}}}, rows_in=1, rows=1)


def held(found: ProbeResult) -> str | None:
    return None if found.held is None else found.held.code


def test_before_anything_is_published_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert source(tmp_path).probe(()).new == 0


def test_versions_that_add_rows_are_new_until_they_are_read(
    tmp_path: Path, table: DeltaOrders
) -> None:
    first = table.add(1, 2)
    assert source(tmp_path).probe(()).new == 1
    assert source(tmp_path).probe([read_until(table, first)]).new == 0
    table.add(3)
    table.add(4, day=2)
    found = source(tmp_path).probe([read_until(table, first)])
    assert (found.new, held(found)) == (2, None)
    assert found.facts["ends"] == {table.id: {0: table.version + 1}}
    assert found.backlog_bytes
    assert found.oldest_new is not None


def test_files_that_were_only_rewritten_are_not_new(tmp_path: Path, table: DeltaOrders) -> None:
    table.add(1)
    read = read_until(table, table.add(2))
    table.compact()
    found = source(tmp_path).probe([read])
    assert (found.new, held(found)) == (0, None)


@pytest.mark.remedy("SwapNotReplayed")
def test_batches_are_not_replayed_past_a_swap(tmp_path: Path, table: DeltaOrders) -> None:
    first = table.add(1)
    last = table.add(2)
    ranges = [Range(topic=table.id, partition=0, first=0, until=first + 1)]
    opened = source(tmp_path)
    opened.refuse_replay(ranges, last)
    swap = table.swap(10)
    with pytest.raises(SwapNotReplayed) as refused:
        opened.refuse_replay(ranges, swap)
    assert refused.value.data["version"] == swap
    carry_out(pipeline_of(tmp_path), refused.value.remedy, "rebuild")


def test_what_was_swapped_before_the_first_read_is_no_problem(
    tmp_path: Path, table: DeltaOrders
) -> None:
    table.add(1)
    table.swap(10)
    found = source(tmp_path).probe(())
    assert (found.new, held(found)) == (1, None)


def test_a_table_that_was_made_again_is_not_taken_for_the_one_that_was_read(
    tmp_path: Path, table: DeltaOrders
) -> None:
    read = read_until(table, table.add(1))
    shutil.rmtree(table.path)
    table.add(2)
    assert held(source(tmp_path).probe([read])) == "UpstreamReplaced"


def test_a_column_of_another_type_is_refused(tmp_path: Path, table: DeltaOrders) -> None:
    table.add(1)
    found = source(tmp_path, schema="id string, day date").probe(())
    assert held(found) == "UpstreamOfOtherSchema"


def test_a_log_whose_unread_entries_have_expired_is_refused(
    tmp_path: Path, table: DeltaOrders
) -> None:
    read = read_until(table, table.add(1))
    gone = table.add(2)
    table.add(3)
    table.expire_log()
    with pytest.raises(HistoryExpired) as error:
        source(tmp_path).probe([read])
    assert error.value.data["version"] == gone


def test_a_pipeline_that_comes_late_reads_what_a_checkpoint_says(
    tmp_path: Path, table: DeltaOrders
) -> None:
    for day in (1, 2, 3):
        table.add(day)
    kept = {one.path for one in files_at(table.path, table.version)}
    table.expire_log()
    assert source(tmp_path).probe(()).new == 1
    batches = TableBatches(table.path, None)
    end = batches.end({}, batches.head(), BatchLimits(files=1))
    assert end == {table.id: {"0": table.version + 1}}
    assert {one.path for one in batches.files({}, end)} == kept
    table.add(4)
    after = batches.end(end, batches.head(), BatchLimits())
    assert len(batches.files(end, after)) == 1


def test_a_recomputation_reads_what_swaps_have_left_before_the_next_new_rows(
    tmp_path: Path, table: DeltaOrders
) -> None:
    read = read_until(table, table.add(1))
    opened = source(tmp_path, swapped="warn")
    assert opened.version_read_again(read) == 0
    swapped = table.swap(10)
    table.add(2)
    assert opened.version_read_again(read) == swapped
