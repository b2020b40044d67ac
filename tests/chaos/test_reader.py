"""The campaign's reader finds rows that are doubled, lost or taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.chaos.campaign_pipelines import (
    CampaignPipeline,
    deliver,
    delivered,
    pipelines,
    rejected_ids,
)
from tests.chaos.reader import CampaignReader
from tidemill.contract.layout import Layout

FILES = 4
(APPEND,) = (one for one in pipelines(database=False) if one.name == "append_a")


@pytest.fixture
def reader(tmp_path: Path) -> CampaignReader:
    (tmp_path / "input").mkdir()
    for number in range(FILES):
        deliver(tmp_path / "input", number)
    return CampaignReader(tmp_path / "root", tmp_path / "input", None)


def publish(reader: CampaignReader, length: int, *, doubled: int = 0) -> None:
    """Let the table hold the rows of a prefix, and some of them twice."""
    files = delivered(reader.expected.folder)[:length]
    rows = [*APPEND.expected(files).elements()]
    rows += rows[:doubled]
    columns = [pa.array([row[place] for row in rows]) for place in range(len(APPEND.columns))]
    table = pa.Table.from_arrays(columns, names=[*APPEND.columns])
    write_deltalake(Layout(reader.root, APPEND.name).table, table, mode="overwrite")


def reject(reader: CampaignReader, *increments: int) -> None:
    """Let the table of rejected rows hold those of all input once for each increment."""
    ids = [*rejected_ids(delivered(reader.expected.folder)).elements()]
    records = [json.dumps({"id": one}) for one in ids] * len(increments)
    numbers = [one for one in increments for _ in ids]
    table = pa.table({"record": records, "increment": numbers})
    write_deltalake(Layout(reader.root, APPEND.name).rejected, table, mode="overwrite")


def test_prefixes_that_grow_are_as_they_should_be(reader: CampaignReader) -> None:
    for length in (1, 2, 2, FILES):
        publish(reader, length)
        reader.look()
    assert reader.found.strays == []
    assert reader.found.prefixes["table append_a"] == FILES
    assert (reader.found.looks["table"], reader.found.looks["version before"]) == (4, 3)


def test_a_row_that_is_there_twice_is_found(reader: CampaignReader) -> None:
    publish(reader, 2, doubled=1)
    reader.look()
    (stray,) = reader.found.strays
    assert stray.startswith("table append_a had the rows of no prefix")


def test_so_is_one_in_a_version_that_was_replaced_at_once(reader: CampaignReader) -> None:
    publish(reader, 2, doubled=1)
    publish(reader, 3)
    reader.look()
    (stray,) = reader.found.strays
    assert stray.startswith("version before append_a had the rows of no prefix")


def test_rows_that_are_taken_back_are_found(reader: CampaignReader) -> None:
    for length in (3, 2):
        publish(reader, length)
        reader.look()
    assert reader.found.strays == ["table append_a went back from prefix 3 to 2"]


def test_between_the_versions_of_a_swap_rejected_rows_are_there_twice(
    reader: CampaignReader,
) -> None:
    reject(reader, 1, 2)
    reader.look()
    assert (reader.found.strays, reader.found.in_swap) == ([], ["append_a"])
    reject(reader, 2)
    reader.look()
    assert (reader.found.strays, reader.found.in_swap) == ([], [])
    assert reader.found.prefixes["rejected append_a"] == FILES


def test_rejected_rows_that_one_event_adds_twice_are_found(reader: CampaignReader) -> None:
    reject(reader, 1, 1)
    reader.look()
    (stray,) = reader.found.strays
    assert stray.startswith("rejected append_a had the rows of no prefix")


@pytest.mark.parametrize("pipeline", pipelines(database=False), ids=lambda one: one.name)
def test_longer_prefixes_of_the_input_have_other_rows(
    reader: CampaignReader, pipeline: CampaignPipeline
) -> None:
    files = delivered(reader.expected.folder)
    states = [pipeline.expected(files[:length]) for length in range(FILES + 1)]
    assert len({frozenset(state.items()) for state in states}) == FILES + 1


def test_a_power_cut_may_take_what_was_not_settled_and_nothing_else(reader: CampaignReader) -> None:
    for length in (2, 3):
        publish(reader, length)
        reader.look()
        if length == 2:
            reader.settle()
    reader.go_back()
    publish(reader, 2)
    reader.look()
    assert reader.found.strays == []
    publish(reader, 1)
    reader.look()
    assert reader.found.strays == ["table append_a went back from prefix 2 to 1"]
