"""The file source's log: which files were taken in, by the source's own offset."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.spark_log_builder import write_source_entry
from tidemill.spark_logs.compactible_log import GapInSourceLog, MissingCompactLog
from tidemill.spark_logs.metadata_log import TornLogEntry
from tidemill.spark_logs.source_log import SourceFile, read_file_source_log


def write_log(checkpoint: Path, last: int) -> None:
    """A log of one file per offset, compacted as Spark does."""
    for offset in range(last + 1):
        compact = (offset + 1) % 10 == 0
        first = 0 if compact else offset
        files = {f"/in/f{other}": other for other in range(first, offset + 1)}
        write_source_entry(checkpoint, offset, files, compact=compact)


def entry(checkpoint: Path, offset: int | str) -> Path:
    return checkpoint / "sources" / "0" / str(offset)


def test_a_source_that_took_nothing_in_has_no_offsets(tmp_path: Path) -> None:
    assert read_file_source_log(tmp_path) == {}


def test_a_file_carries_what_was_recorded(tmp_path: Path) -> None:
    write_source_entry(tmp_path, 0, {"/in put/f é#%.json": 0})
    file = SourceFile(Path("/in put/f é#%.json"), 1_700_000_000_000, 0)
    assert read_file_source_log(tmp_path) == {0: (file,)}


def test_compacted_files_keep_their_offsets(tmp_path: Path) -> None:
    write_log(tmp_path, 24)
    for offset in range(9):
        entry(tmp_path, offset).unlink()
    log = read_file_source_log(tmp_path)
    assert {offset: [str(file.path) for file in files] for offset, files in log.items()} == {
        offset: [f"/in/f{offset}"] for offset in range(25)
    }


def test_a_named_source_has_a_log_of_its_own(tmp_path: Path) -> None:
    write_source_entry(tmp_path, 0, {"/in/f0": 0}, source="orders")
    assert list(read_file_source_log(tmp_path, "orders")) == [0]
    assert read_file_source_log(tmp_path, 0) == {}


@pytest.mark.parametrize("content", ["", "v1\n{", 'v1\n{"path":"file:///in/f2"}'])
def test_a_torn_entry_is_refused(tmp_path: Path, content: str) -> None:
    write_log(tmp_path, 2)
    entry(tmp_path, 2).write_text(content)
    with pytest.raises(TornLogEntry) as refused:
        read_file_source_log(tmp_path)
    assert (refused.value.file, refused.value.batch) == (entry(tmp_path, 2), 2)


def test_a_missing_entry_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, 14)
    entry(tmp_path, 12).unlink()
    with pytest.raises(GapInSourceLog) as refused:
        read_file_source_log(tmp_path)
    assert (refused.value.file, refused.value.batch) == (entry(tmp_path, 12), 12)


def test_a_missing_compact_file_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, 14)
    entry(tmp_path, "9.compact").unlink()
    with pytest.raises(MissingCompactLog) as refused:
        read_file_source_log(tmp_path)
    assert refused.value.file == entry(tmp_path, "9.compact")
