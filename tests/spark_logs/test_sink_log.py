"""The file sink's log: what it says was committed, and what makes it not to be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.spark_log_builder import write_sink_entry
from tidemill.spark_logs.compactible_log import GapInSinkLog, MissingCompactLog
from tidemill.spark_logs.metadata_log import TornLogEntry, UnsupportedLogVersion
from tidemill.spark_logs.partition_paths import NotALocalFile
from tidemill.spark_logs.sink_log import (
    FilesOfBatchUnknown,
    SinkFile,
    SinkMoved,
    UnknownSinkAction,
    read_sink_log,
)


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    return tmp_path / "table" / "_live-0001"


def name(batch: int) -> str:
    return f"k=a/part-{batch:05d}.parquet"


def write_log(sink: Path, last: int, *, interval: int = 10) -> None:
    """A log of one file per batch, compacted as Spark does."""
    for batch in range(last + 1):
        if (batch + 1) % interval:
            write_sink_entry(sink, batch, [name(batch)])
        else:
            write_sink_entry(sink, batch, map(name, range(batch + 1)), compact=True)


def entry(sink: Path, batch: int | str) -> Path:
    return sink / "_spark_metadata" / str(batch)


def names(sink: Path, files: tuple[SinkFile, ...]) -> list[str]:
    return [str(file.path.relative_to(sink)) for file in files]


def test_a_sink_without_a_log_has_committed_nothing(sink: Path) -> None:
    log = read_sink_log(sink)
    assert (log.latest, log.compacted_upto, log.files) == (None, None, ())
    assert not log.single


def test_a_file_carries_what_was_recorded(sink: Path) -> None:
    write_sink_entry(sink, 0, ["k=é %2F/part-0.parquet"])
    [file] = read_sink_log(sink).files
    assert file == SinkFile(sink / "k=é %2F/part-0.parquet", 480, 1_795_252_251_283)


def test_everything_committed_is_the_latest_compaction_and_its_tail(sink: Path) -> None:
    write_log(sink, 24)
    log = read_sink_log(sink)
    assert (log.latest, log.compacted_upto) == (24, 19)
    assert names(sink, log.files) == [name(batch) for batch in range(25)]
    assert list(log.single) == [batch for batch in range(25) if batch not in (9, 19)]


def test_a_batch_that_wrote_no_file_counts(sink: Path) -> None:
    write_sink_entry(sink, 0, [name(0)])
    write_sink_entry(sink, 1, [])
    log = read_sink_log(sink)
    assert log.latest == 1
    assert log.files_of(1) == ()


def test_checksums_temporary_files_and_strangers_are_not_entries(sink: Path) -> None:
    write_sink_entry(sink, 0, [name(0)])
    for stranger in (".1.6f2c.tmp", "..1.6f2c.tmp.crc", "_SUCCESS", "1.tmp", "-1", "٣"):
        entry(sink, stranger).write_text("")
    assert read_sink_log(sink).latest == 0


def test_directories_are_not_files(sink: Path) -> None:
    write_sink_entry(sink, 0, ["k=a"], isDir=True)
    assert read_sink_log(sink).files == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is empty"),
        ("{}", "its first line is not a version"),
        ("v", "its first line is not a version"),
        ('v1\n{"path":"file:///x', "line 2 is not JSON"),
        ("v1\n[]", "line 2 is not a JSON object"),
        ('v1\n{"path":"file:///x"}', "line 2 lacks 'size'"),
        (b"v1\n\xff", "it is not UTF-8"),
    ],
)
@pytest.mark.parametrize("file", ["2", "9.compact"])
def test_a_torn_entry_is_refused(sink: Path, content: str | bytes, reason: str, file: str) -> None:
    write_log(sink, 9 if file == "9.compact" else 2)
    entry(sink, file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TornLogEntry) as refused:
        read_sink_log(sink)
    assert refused.value.file == entry(sink, file)
    assert refused.value.batch == int(file.removesuffix(".compact"))
    assert refused.value.reason == reason
    assert "tidemill checkpoint repair" in refused.value.remedy


def test_a_torn_entry_before_the_latest_compaction_hides_nothing_but_itself(sink: Path) -> None:
    write_log(sink, 11)
    entry(sink, 3).write_text("")
    log = read_sink_log(sink)
    assert len(log.files) == 12
    with pytest.raises(TornLogEntry) as refused:
        log.files_of(3)
    assert refused.value.batch == 3


def test_a_compaction_that_is_damaged_inside_is_refused_when_it_is_asked_for(sink: Path) -> None:
    write_log(sink, 9)
    compact = entry(sink, "9.compact")
    compact.write_text(compact.read_text().replace("00004", '00004"', 1))
    log = read_sink_log(sink)
    for ask in (lambda: log.files, lambda: log.files_of(9)):
        with pytest.raises(TornLogEntry) as refused:
            ask()
        assert (refused.value.file, refused.value.reason) == (compact, "line 6 is not JSON")


def test_a_compaction_that_is_cut_off_is_refused(sink: Path) -> None:
    write_log(sink, 9)
    compact = entry(sink, "9.compact")
    compact.write_text(compact.read_text()[:-7])
    with pytest.raises(TornLogEntry) as refused:
        read_sink_log(sink)
    assert refused.value.reason == "line 11 is not JSON"


def test_a_newer_version_of_the_log_is_refused(sink: Path) -> None:
    write_log(sink, 0)
    entry(sink, 0).write_text("v2\n")
    with pytest.raises(UnsupportedLogVersion) as refused:
        read_sink_log(sink)
    assert (refused.value.batch, refused.value.version) == (0, 2)


@pytest.mark.parametrize(("last", "missing"), [(8, 3), (25, 21), (24, 20), (3, 0)])
def test_a_missing_entry_is_refused(sink: Path, last: int, missing: int) -> None:
    write_log(sink, last)
    entry(sink, missing).unlink()
    with pytest.raises(GapInSinkLog) as refused:
        read_sink_log(sink)
    assert refused.value.file == entry(sink, missing)
    assert refused.value.batch == missing


@pytest.mark.parametrize(
    ("last", "interval", "missing"),
    [(12, 10, 9), (24, 10, 19), (24, 10, 9), (7, 3, 5), (25, 12, 23)],
)
def test_a_missing_compact_file_is_refused(
    sink: Path, last: int, interval: int, missing: int
) -> None:
    write_log(sink, last, interval=interval)
    newer = [batch for batch in range(missing + 1, last + 1) if (batch + 1) % interval == 0]
    for batch in newer:
        entry(sink, f"{batch}.compact").unlink()
    entry(sink, f"{missing}.compact").unlink()
    with pytest.raises(MissingCompactLog) as refused:
        read_sink_log(sink)
    assert refused.value.file == entry(sink, f"{missing}.compact")
    assert refused.value.batch == missing


def test_entries_that_spark_has_expired_are_no_gap(sink: Path) -> None:
    write_log(sink, 24)
    for batch in range(19):
        entry(sink, f"{batch}.compact" if batch == 9 else batch).unlink()
    assert len(read_sink_log(sink).files) == 25


def test_a_missing_entry_in_what_spark_has_not_expired_is_refused(sink: Path) -> None:
    write_log(sink, 24)
    for batch in range(19):
        entry(sink, f"{batch}.compact" if batch == 9 else batch).unlink()
    entry(sink, 21).unlink()
    with pytest.raises(GapInSinkLog) as refused:
        read_sink_log(sink)
    assert refused.value.batch == 21


def test_every_batch_can_be_told_apart_while_its_neighbours_are_there(sink: Path) -> None:
    write_log(sink, 24)
    log = read_sink_log(sink)
    assert [names(sink, log.files_of(batch)) for batch in range(25)] == [
        [name(batch)] for batch in range(25)
    ]


def test_with_a_compact_interval_of_one_every_batch_can_be_told_apart(sink: Path) -> None:
    write_log(sink, 2, interval=1)
    log = read_sink_log(sink)
    assert not log.single
    assert [names(sink, log.files_of(batch)) for batch in range(3)] == [
        [name(batch)] for batch in range(3)
    ]


def test_a_compaction_that_outlived_its_neighbours_needs_the_ledger(sink: Path) -> None:
    write_log(sink, 24)
    for batch in range(19):
        entry(sink, f"{batch}.compact" if batch == 9 else batch).unlink()
    log = read_sink_log(sink)
    known = {sink / name(batch) for batch in range(19)}
    assert names(sink, log.files_of(19, known)) == [name(19)]
    assert names(sink, log.files_of(20)) == [name(20)]
    assert 19 not in log.single


@pytest.mark.parametrize("unknown", [range(19), [0], [9], [3, 17]])
def test_a_ledger_with_holes_does_not_give_their_files_to_the_compaction(
    sink: Path, unknown: list[int]
) -> None:
    write_log(sink, 24)
    for batch in range(19):
        entry(sink, f"{batch}.compact" if batch == 9 else batch).unlink()
    known = {sink / name(batch) for batch in range(19) if batch not in unknown}
    with pytest.raises(FilesOfBatchUnknown) as refused:
        read_sink_log(sink).files_of(19, known)
    assert refused.value.batch == 19


def test_a_compaction_batch_that_wrote_nothing_has_no_files(sink: Path) -> None:
    write_log(sink, 8)
    write_sink_entry(sink, 9, map(name, range(9)), compact=True)
    assert read_sink_log(sink).files_of(9) == ()
    for batch in range(9):
        entry(sink, batch).unlink()
    known = {sink / name(batch) for batch in range(9)}
    assert read_sink_log(sink).files_of(9, known) == ()


@pytest.mark.parametrize("batch", [4, 25])
def test_the_files_of_a_batch_without_an_entry_are_unknown(sink: Path, batch: int) -> None:
    write_log(sink, 24)
    entry(sink, 4).unlink()
    with pytest.raises(FilesOfBatchUnknown) as refused:
        read_sink_log(sink).files_of(batch, {sink / name(other) for other in range(25)})
    assert (refused.value.sink, refused.value.batch) == (sink, batch)


def test_a_moved_sink_is_refused(sink: Path, tmp_path: Path) -> None:
    write_sink_entry(sink, 0, ["a=1/b=x%3Dy/part-0.parquet"])
    moved = tmp_path / "elsewhere" / "_live-0001"
    moved.parent.mkdir()
    sink.rename(moved)
    with pytest.raises(SinkMoved) as refused:
        read_sink_log(moved)
    assert (refused.value.recorded, refused.value.actual) == (sink, moved)
    assert (refused.value.file, refused.value.batch) == (entry(moved, 0), 0)


def test_a_sibling_whose_name_begins_alike_is_another_sink(sink: Path) -> None:
    write_sink_entry(sink, 0, [f"../{sink.name}-copy/k=a/part-0.parquet"])
    entry(sink, 0).write_text(entry(sink, 0).read_text().replace("_live-0001/../", ""))
    with pytest.raises(SinkMoved) as refused:
        read_sink_log(sink)
    assert refused.value.recorded == sink.with_name("_live-0001-copy")


def test_a_sink_behind_a_link_is_the_same_sink(sink: Path, tmp_path: Path) -> None:
    write_sink_entry(sink, 0, [name(0)])
    link = tmp_path / "link"
    link.symlink_to(sink.parent)
    [file] = read_sink_log(link / sink.name).files
    assert file.path == link / sink.name / name(0)


def test_a_relative_sink_is_read(sink: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sink_entry(sink, 0, [name(0)])
    monkeypatch.chdir(sink.parent)
    [file] = read_sink_log(Path(sink.name)).files
    assert file.path == sink / name(0)


def test_an_entry_of_another_file_system_is_refused(sink: Path) -> None:
    write_sink_entry(sink, 0, [name(0)], path="gs://bucket/k=a/part-0.parquet")
    with pytest.raises(NotALocalFile) as refused:
        read_sink_log(sink)
    assert refused.value.uri == "gs://bucket/k=a/part-0.parquet"


def test_an_entry_that_does_not_add_a_file_is_refused(sink: Path) -> None:
    write_sink_entry(sink, 0, [name(0)], action="delete")
    with pytest.raises(UnknownSinkAction) as refused:
        read_sink_log(sink)
    assert (refused.value.batch, refused.value.action) == (0, "delete")
