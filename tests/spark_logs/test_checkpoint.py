"""Spark's checkpoint: what was planned, what was committed, and what makes it not to be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.spark_log_builder import (
    write_commit,
    write_metadata,
    write_offsets,
    write_source_entry,
)
from tidemill.spark_logs.checkpoint import (
    CheckpointWithoutMetadata,
    CommitEntry,
    NotAFileSource,
    OffsetEntry,
    OffsetsExpired,
    read_checkpoint,
)
from tidemill.spark_logs.compactible_log import GapInSourceLog
from tidemill.spark_logs.metadata_log import TornLogEntry, UnsupportedLogVersion


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of two committed batches and a planned one; one file each, none for batch 2."""
    path = tmp_path / "live-0001"
    write_metadata(path, "86022cb6")
    for batch, offset in enumerate((0, 1, 1)):
        write_offsets(path, batch, offset, watermark_ms=10 * batch)
    for batch in (0, 1):
        write_commit(path, batch, next_watermark_ms=10 * (batch + 1))
        write_source_entry(path, batch, {f"/in/f{batch}": batch})
    return path


def inputs(path: Path, source: int | str = 0) -> dict[int, list[str]]:
    found = read_checkpoint(path).inputs(source)
    return {batch: [str(file.path) for file in files] for batch, files in found.items()}


def test_a_checkpoint_that_is_not_there_has_no_batches(tmp_path: Path) -> None:
    found = read_checkpoint(tmp_path / "none")
    assert (found.query_id, found.latest_offsets, found.latest_commit) == (None, None, None)


def test_a_checkpoint_with_an_id_alone_has_no_batches(tmp_path: Path) -> None:
    write_metadata(tmp_path)
    write_source_entry(tmp_path, 0, {"/in/f0": 0})
    found = read_checkpoint(tmp_path)
    assert (found.latest_offsets, found.latest_commit) == (None, None)


def test_planned_and_committed_batches_are_read(checkpoint: Path) -> None:
    found = read_checkpoint(checkpoint)
    assert found.query_id == "86022cb6"
    assert (found.latest_offsets, found.latest_commit) == (2, 1)
    assert found.offsets[2] == OffsetEntry(2, 20, 1, {"k": "v"}, {"0": {"logOffset": 1}})
    assert found.commits[1] == CommitEntry(1, 20)
    assert list(found.commits) == [0, 1]


def test_expired_entries_are_not_missed(checkpoint: Path) -> None:
    for entry in ("offsets/0", "offsets/1", "commits/0"):
        (checkpoint / entry).unlink()
    found = read_checkpoint(checkpoint)
    assert list(found.offsets) == [2]


def test_a_source_without_an_offset_yet_has_none(checkpoint: Path) -> None:
    write_offsets(checkpoint, 2, 1, None)
    assert read_checkpoint(checkpoint).offsets[2].sources == {"0": {"logOffset": 1}, "1": None}


def test_version_2_names_its_sources(checkpoint: Path) -> None:
    offsets = checkpoint / "offsets" / "2"
    lines = offsets.read_text().split("\n")
    named = ['orders:{"logOffset":1}', "clicks:-", 'kafka:{"t:0":{"0":7}}']
    offsets.write_text("\n".join(["v2", lines[1], *named]))
    assert read_checkpoint(checkpoint).offsets[2].sources == {
        "orders": {"logOffset": 1},
        "clicks": None,
        "kafka": {"t:0": {"0": 7}},
    }


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_newer_versions_of_the_commit_log_are_read(checkpoint: Path, version: str) -> None:
    content = f'{version}\n{{"nextBatchWatermarkMs":7,"stateUniqueIds":{{"0":[["c8"]]}}}}'
    (checkpoint / "commits" / "1").write_text(content)
    assert read_checkpoint(checkpoint).commits[1].next_watermark_ms == 7


@pytest.mark.parametrize(("entry", "version"), [("offsets/2", 3), ("commits/1", 4)])
def test_versions_newer_than_sparks_are_refused(checkpoint: Path, entry: str, version: int) -> None:
    (checkpoint / entry).write_text(f"v{version}\n{{}}")
    with pytest.raises(UnsupportedLogVersion) as refused:
        read_checkpoint(checkpoint)
    assert (refused.value.file, refused.value.version) == (checkpoint / entry, version)


METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


@pytest.mark.parametrize(
    ("entry", "content", "reason"),
    [
        ("offsets/2", "", "it is empty"),
        ("offsets/1", "", "it is empty"),
        ("offsets/2", "v1", "it ends after line 1"),
        ("offsets/2", "v1\n", "it ends after line 1"),
        ("offsets/2", 'v1\n{"batchWater', "line 2 is not JSON"),
        ("offsets/2", f"v1\n{METADATA}", "it names no source"),
        ("offsets/2", f'v1\n{METADATA}\n{{"logO', "line 3 is not JSON"),
        ("offsets/2", f'v1\n{METADATA}\n{{"logOffset":1}}\n{{', "line 4 is not JSON"),
        ("offsets/2", f"v2\n{METADATA}\norders", "line 3 names no source"),
        ("offsets/2", 'v1\n{"batchWatermarkMs":0}\n-', "line 2 lacks 'batchTimestampMs'"),
        ("commits/1", "", "it is empty"),
        # Spark takes this one for a watermark of 0, and goes on.
        ("commits/1", "v1", "it ends after line 1"),
        ("commits/1", "v1\n{}", "line 2 lacks 'nextBatchWatermarkMs'"),
        ("commits/0", "v1\n{", "line 2 is not JSON"),
    ],
)
def test_a_torn_entry_is_refused(checkpoint: Path, entry: str, content: str, reason: str) -> None:
    file = checkpoint / entry
    file.write_text(content)
    with pytest.raises(TornLogEntry) as refused:
        read_checkpoint(checkpoint)
    assert (refused.value.file, refused.value.batch) == (file, int(file.name))
    assert refused.value.reason == reason
    assert "tidemill checkpoint repair" in refused.value.remedy


def test_a_torn_older_entry_is_refused_when_it_is_asked_for(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "0").write_text("")
    found = read_checkpoint(checkpoint)
    with pytest.raises(TornLogEntry) as refused:
        found.offsets[0]
    assert refused.value.batch == 0


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"id"'])
def test_torn_metadata_is_refused(checkpoint: Path, content: str) -> None:
    (checkpoint / "metadata").write_text(content)
    with pytest.raises(TornLogEntry) as refused:
        read_checkpoint(checkpoint)
    assert (refused.value.file, refused.value.batch) == (checkpoint / "metadata", None)


@pytest.mark.parametrize("gone", ["offsets", "commits"])
def test_batches_without_metadata_are_refused(checkpoint: Path, gone: str) -> None:
    (checkpoint / "metadata").unlink()
    for entry in (checkpoint / gone).iterdir():
        entry.unlink()
    with pytest.raises(CheckpointWithoutMetadata) as refused:
        read_checkpoint(checkpoint)
    assert refused.value.checkpoint == checkpoint


def test_a_batch_without_data_has_no_inputs(checkpoint: Path) -> None:
    assert inputs(checkpoint) == {0: ["/in/f0"], 1: ["/in/f1"], 2: []}


def test_a_batch_after_a_crash_has_the_files_of_several_offsets(checkpoint: Path) -> None:
    for offset in (2, 3):
        write_source_entry(checkpoint, offset, {f"/in/f{offset}": offset})
    write_offsets(checkpoint, 2, 3)
    assert inputs(checkpoint)[2] == ["/in/f2", "/in/f3"]


def test_files_that_no_batch_has_planned_yet_are_no_inputs(checkpoint: Path) -> None:
    write_source_entry(checkpoint, 2, {"/in/f2": 2})
    assert inputs(checkpoint)[2] == []


def test_each_source_has_its_own_inputs(checkpoint: Path) -> None:
    write_source_entry(checkpoint, 0, {"/other/g0": 0}, source="1")
    write_offsets(checkpoint, 0, 0, None)
    write_offsets(checkpoint, 1, 1, 0)
    assert inputs(checkpoint, 1) == {0: [], 1: ["/other/g0"], 2: []}


def test_the_inputs_of_the_oldest_batch_need_the_offset_before_it(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "0").unlink()
    found = read_checkpoint(checkpoint)
    with pytest.raises(OffsetsExpired) as refused:
        found.inputs()[1]
    assert refused.value.batch == 0


def test_an_offset_without_files_is_refused(checkpoint: Path) -> None:
    write_offsets(checkpoint, 2, 2)
    found = read_checkpoint(checkpoint).inputs()
    with pytest.raises(GapInSourceLog) as refused:
        found[2]
    assert refused.value.batch == 2


def test_a_source_without_files_is_refused(checkpoint: Path) -> None:
    offsets = checkpoint / "offsets" / "2"
    offsets.write_text(f'v1\n{METADATA}\n{{"topic":{{"0":7}}}}')
    found = read_checkpoint(checkpoint).inputs()
    with pytest.raises(NotAFileSource) as refused:
        found[2]
    assert refused.value.offset == {"topic": {"0": 7}}
