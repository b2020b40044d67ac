"""A source's log is cut to what Spark must still know, under the names that it had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.histories.spark_log_builder import write_source_entry
from tidemill.spark_logs.compactible_log import GapInLog, compactible_log
from tidemill.spark_logs.metadata_log import TornLogEntry
from tidemill.spark_logs.source_log import KEPT, read_file_source_log
from tidemill.spark_logs.source_log_cut import cut_source_log, files_known, keep_from_reading


def compacted(checkpoint: Path) -> Path:
    """A log of the offsets 0 to 4, of which the third is a compact one."""
    write_source_entry(
        checkpoint, 2, {f"/in/{n}": n for n in range(3)}, compact=True, source="orders"
    )
    for offset in (3, 4):
        write_source_entry(checkpoint, offset, {f"/in/{offset}": offset}, source="orders")
    return checkpoint / "sources" / "orders"


def lines(file: Path) -> list[dict[str, object]]:
    version, *rest = file.read_text().split("\n")
    assert version == "v1"
    return [json.loads(line) for line in rest]


@pytest.mark.parametrize(("last", "names"), [(4, ["2.compact", "3", "4"]), (2, ["2.compact"])])
def test_the_files_of_the_last_offset_stay(tmp_path: Path, last: int, names: list[str]) -> None:
    folder, cut = compacted(tmp_path / "was"), tmp_path / "now" / "sources" / "orders"
    cut_source_log(folder, cut, last)
    assert sorted(path.name for path in cut.iterdir()) == names
    assert files_known(folder) == {Path(f"/in/{n}") for n in range(5)}
    assert files_known(cut) == {Path(f"/in/{last}")}
    read = read_file_source_log(tmp_path / "now", "orders")
    assert [[str(file.path) for file in read[last]]] == [[f"/in/{last}"]]
    assert compactible_log(cut).length == 1


def test_the_age_of_files_is_reckoned_from_the_same_one(tmp_path: Path) -> None:
    folder, cut = compacted(tmp_path / "was"), tmp_path / "now"
    entry = folder / "3"
    entry.write_text(entry.read_text().replace("1700000000000", "1800000000000"))
    cut_source_log(folder, cut, 4)
    assert [(one["batchId"], one["timestamp"]) for one in lines(cut / "4")] == [
        (KEPT, 1_800_000_000_000),
        (4, 1_700_000_000_000),
    ]


def test_files_that_no_batch_reads_come_before_those_of_the_newest_offset(tmp_path: Path) -> None:
    folder = compacted(tmp_path)
    (folder / ".4.crc").write_bytes(b"crc\0")
    keep_from_reading(folder, {Path("/in/ä b%20\u00a0"): 7})
    kept, own = lines(folder / "4")
    assert kept == {"path": "file:///in/ä%20b%2520%C2%A0", "timestamp": 7, "batchId": KEPT}
    assert own["batchId"] == 4
    # Spark would refuse the file by its old checksum.
    assert not (folder / ".4.crc").exists()
    assert files_known(folder) == {Path("/in/ä b%20\u00a0"), *(Path(f"/in/{n}") for n in range(5))}
    read = read_file_source_log(tmp_path, "orders")
    assert {offset: [file.path.name for file in files] for offset, files in read.items()} == {
        n: [str(n)] for n in range(5)
    }
    assert compactible_log(folder).length == 5
    before = (folder / "4").read_bytes()
    keep_from_reading(folder, {})
    assert (folder / "4").read_bytes() == before


def test_of_a_damaged_log_nothing_is_cut(tmp_path: Path) -> None:
    folder = compacted(tmp_path / "torn")
    (folder / "2.compact").write_text('v1\n{"path":')
    with pytest.raises(TornLogEntry):
        cut_source_log(folder, tmp_path / "to", 4)
    folder = compacted(tmp_path / "gap")
    (folder / "3").unlink()
    with pytest.raises(GapInLog):
        cut_source_log(folder, tmp_path / "to", 4)
