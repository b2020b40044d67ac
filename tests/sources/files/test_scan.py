"""What is in the source's directory against what was read of it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_log_builder import write_commit
from tidemill.sources.files.scan import InputMixed, Scan, scan
from tidemill.spec.sources.file import FileSource

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def scanned(history: History) -> Scan:
    source = history.pipeline.spec.sources["orders"]
    assert isinstance(source, FileSource)
    return scan("orders", source, history.ledger.batches())


def paths(found: tuple[object, ...]) -> list[str]:
    return [file.path.name for file in found]  # type: ignore[attr-defined]


@pytest.fixture
def read(history: History) -> Path:
    """A file of noon that a batch has read."""
    file = history.arrive("read.csv", "id,at\n1,\n", at=NOON)
    history.batch(rows(1), inputs=[file])
    return file


def test_before_the_first_file_there_is_nothing(history: History) -> None:
    found = scanned(history)
    assert (found.new, found.changed, found.too_old, found.overlooked) == ((), (), (), ())
    assert (found.last_arrival, found.backlog_bytes) == (None, 0)


def test_a_file_that_no_batch_read_is_new(history: History) -> None:
    history.batch(rows(1))
    arrived = history.arrive("late.csv", "id,at\n2,\n")
    found = scanned(history)
    assert [file.path for file in found.new] == [arrived]
    assert found.backlog_bytes == arrived.stat().st_size
    assert (found.changed, found.too_old) == ((), ())


def test_a_file_that_was_read_is_neither_new_nor_changed(history: History, read: Path) -> None:
    found = scanned(history)
    assert (found.new, found.changed) == ((), ())
    assert found.last_arrival == NOON


def test_a_file_that_grew_has_changed(history: History, read: Path) -> None:
    with read.open("a") as file:
        file.write("2,\n")
    os.utime(read, (NOON.timestamp(), NOON.timestamp()))
    assert paths(scanned(history).changed) == ["read.csv"]


def test_a_file_that_took_the_place_of_one_was_delivered_again(
    history: History, read: Path
) -> None:
    draft = history.arrive("draft.tmp", "id,at\n2,\n")
    draft.replace(read)
    found = scanned(history)
    assert (paths(found.redelivered), found.changed, found.new) == (["read.csv"], (), ())


@pytest.mark.parametrize("again", ["touched", "rewritten", "replaced"])
def test_a_file_with_the_content_that_was_read_is_that_file(
    history: History, read: Path, again: str
) -> None:
    content = read.read_text()
    if again == "touched":
        os.utime(read, (0, 0))
    elif again == "rewritten":
        read.write_text(content)
    else:
        history.arrive("draft.tmp", content).replace(read)
    found = scanned(history)
    assert (found.changed, found.redelivered, found.new) == ((), (), ())


def test_of_a_file_whose_content_nobody_took_down_the_time_decides(tmp_path: Path) -> None:
    history = History(tmp_path / "plain", source=", same_content: ignore")
    file = history.arrive("a.csv", "id,at\n1,\n", at=NOON)
    history.batch(rows(1), inputs=[file])
    os.utime(file, (0, 0))
    assert paths(scanned(history).changed) == ["a.csv"]


def test_content_that_was_read_is_known_under_any_name(history: History, read: Path) -> None:
    copy = history.arrive("copy.csv", read.read_text())
    history.arrive("other.csv", "id,at\n2,\n")
    found = scanned(history)
    assert {file.path: first for file, first in found.same_content.items()} == {copy: str(read)}
    assert paths(found.new) == ["copy.csv", "other.csv"]


def test_of_two_new_files_with_one_content_the_later_is_the_copy(history: History) -> None:
    first = history.arrive("b.csv", "id,at\n1,\n", at=NOON)
    copy = history.arrive("a.csv", "id,at\n1,\n", at=NOON + timedelta(hours=1))
    found = scanned(history).same_content
    assert {file.path: first for file, first in found.items()} == {copy: str(first)}


def test_empty_files_and_contents_that_the_spec_ignores_are_not_compared(tmp_path: Path) -> None:
    for number, (more, content) in enumerate([("", ""), (", same_content: ignore", "id\n1\n")]):
        history = History(tmp_path / str(number), source=more)
        history.batch(rows(1))
        history.arrive("a.csv", content)
        history.arrive("b.csv", content)
        assert not scanned(history).same_content


def by_name(tmp_path: Path) -> History:
    (tmp_path / "named").mkdir()
    more = ", fileNameOnly: true, options: {recursiveFileLookup: true}"
    return History(tmp_path / "named", source=more)


def test_by_name_only_a_file_that_moved_is_the_one_that_was_read(tmp_path: Path) -> None:
    history = by_name(tmp_path)
    history.batch(rows(1), inputs=[history.arrive("one/a.csv", "id,at\n1,\n")])
    history.arrive("two/a.csv", "id,at\n1,\n")
    found = scanned(history)
    assert (found.new, found.redelivered) == ((), ())
    assert found.seen == 2


def test_by_name_only_another_file_of_a_name_that_was_read_is_delivered_again(
    tmp_path: Path,
) -> None:
    history = by_name(tmp_path)
    history.batch(rows(1), inputs=[history.arrive("one/a.csv", "id,at\n1,\n")])
    again = history.arrive("two/a.csv", "id,at\n2,\n")
    found = scanned(history)
    assert found.new == ()
    assert [file.path for file in found.redelivered] == [again]


def test_by_name_only_of_two_new_files_with_one_name_nobody_knows_which_is_read(
    tmp_path: Path,
) -> None:
    history = by_name(tmp_path)
    history.arrive("one/a.csv", "id,at\n1,\n", at=NOON)
    later = history.arrive("two/a.csv", "id,at\n2,\n", at=NOON + timedelta(hours=1))
    assert [file.path for file in scanned(history).redelivered] == [later]


def test_a_file_that_was_removed_after_it_was_read_is_no_finding(
    history: History, read: Path
) -> None:
    read.unlink()
    found = scanned(history)
    assert (found.new, found.changed, found.too_old) == ((), (), ())
    assert found.last_arrival == NOON


def test_of_a_file_whose_size_nobody_knows_the_time_decides(history: History) -> None:
    file = history.arrive("a.csv", at=NOON)
    history.batch(rows(1), inputs=[file], commit=False)
    file.write_text("grown before it was written down\n")
    write_commit(history.checkpoint, 0)
    history.ledger.complete()
    assert history.ledger.batches()[0].inputs[0].size is None
    assert paths(scanned(history).changed) == ["a.csv"]
    os.utime(file, (NOON.timestamp(), NOON.timestamp()))
    assert scanned(history).changed == ()


DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("more", "age", "too_old"),
    [
        (", maxFileAge: 1 day", DAY - timedelta(seconds=1), False),
        (", maxFileAge: 1 day", DAY, False),
        (", maxFileAge: 1 day", DAY + timedelta(seconds=1), True),
        ("", 1000 * DAY, False),
        (", maxFileAge: 1 day, latestFirst: true", 1000 * DAY, False),
    ],
)
def test_a_file_older_than_spark_looks_is_too_old(
    tmp_path: Path, more: str, age: timedelta, too_old: bool
) -> None:
    history = History(tmp_path / "aged", source=more)
    history.batch(rows(1), inputs=[history.arrive("newest.csv", at=NOON)])
    history.arrive("late.csv", at=NOON - age)
    found = scanned(history)
    assert (paths(found.too_old), paths(found.new)) == (
        (["late.csv"], []) if too_old else ([], ["late.csv"])
    )


def test_before_anything_was_read_no_file_is_too_old(tmp_path: Path) -> None:
    history = History(tmp_path / "aged", source=", maxFileAge: 1 day")
    history.arrive("old.csv", at=NOON - 10 * DAY)
    history.arrive("new.csv", at=NOON)
    assert paths(scanned(history).new) == ["old.csv", "new.csv"]


def test_files_where_spark_does_not_look_are_overlooked(history: History) -> None:
    history.arrive("a.csv")
    history.arrive("archive/b.csv")
    found = scanned(history)
    assert (paths(found.new), paths(found.overlooked)) == (["a.csv"], ["b.csv"])


def test_a_file_that_was_read_before_a_partition_hid_it_is_not_overlooked(
    history: History, read: Path
) -> None:
    history.arrive("k=1/b.csv")
    found = scanned(history)
    assert (paths(found.new), found.overlooked) == (["b.csv"], ())


def test_unread_files_beside_partitions_are_refused_before_spark_takes_them_in(
    history: History,
) -> None:
    lost = history.arrive("a.csv")
    history.arrive("k=1/b.csv")
    with pytest.raises(InputMixed) as refused:
        scanned(history)
    assert refused.value.files == [str(lost)]
