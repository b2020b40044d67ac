"""What was found in a file is kept while the file stays the same."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidemill.contract.unchanged_file import Findings


class CountedReads:
    """Findings of one file, which is counted each time it is read.

    Args:
        path: The file.
        later: How long after its last change it is asked for.
    """

    def __init__(self, path: Path, later: timedelta = timedelta(minutes=1)) -> None:
        self.path, self.number = path, 0
        self.findings = Findings[bytes](
            lambda: datetime.fromtimestamp(path.stat().st_ctime, UTC) + later
        )

    def content(self, asked: str = "content") -> bytes:
        return self.findings.of(self.path, asked, self._read)

    def _read(self) -> bytes:
        self.number += 1
        return self.path.read_bytes()


def test_a_file_is_read_once_for_each_question(tmp_path: Path) -> None:
    reads = CountedReads(tmp_path / "a.csv")
    reads.path.write_text("one")
    assert [reads.content(), reads.content()] == [b"one", b"one"]
    assert reads.number == 1
    assert reads.content("another question") == b"one"
    assert reads.number == 2


def test_a_file_of_the_same_size_and_time_in_its_place_is_read(tmp_path: Path) -> None:
    reads = CountedReads(tmp_path / "a.csv")
    reads.path.write_text("one")
    assert reads.content() == b"one"
    times = reads.path.stat()
    other = tmp_path / "b.csv"
    other.write_text("two")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(reads.path)
    assert reads.content() == b"two"


def test_a_file_that_was_changed_a_moment_ago_is_read_each_time(tmp_path: Path) -> None:
    reads = CountedReads(tmp_path / "a.csv", later=timedelta(seconds=1))
    reads.path.write_text("one")
    assert [reads.content(), reads.content()] == [b"one", b"one"]
    assert reads.number == 2


def test_a_file_that_could_not_be_read_is_read_again(tmp_path: Path) -> None:
    reads = CountedReads(tmp_path / "a.csv")
    reads.path.mkdir()
    for _ in range(2):
        with pytest.raises(IsADirectoryError):
            reads.content()
    assert reads.number == 2
