"""Settlements write what is new; their segments answer as the batches themselves do."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from tests.support.batches import batch_of
from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.object_path import ObjectPath, path_of
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.input_index import InputIndex
from tidemill.ledger.input_segment import SegmentDamaged
from tidemill.ledger.settle import RATIO, inherit_settled, settle_batches
from tidemill.ledger.settled_batches import (
    SettledBatches,
    file_of,
    folder_of,
    read_settled_batches,
)
from tidemill.sources.files.inputs_read import InputsRead
from tidemill.storage import documents
from tidemill.storage.folders import remove_folder

NAME = "orders"
SIZES = (10, 20)
PATHS = [f"/in/{folder}/{number}.csv" for folder in range(5) for number in range(6)]


@dataclass
class Past:
    """A ledger of batches that have read made-up files.

    Args:
        root: The folder of ledgers.
    """

    root: Path
    name: str = "live-0001"
    batches: list[Batch] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.root / self.name

    def commit(self, files: Iterable[InputFile]) -> None:
        number = len(self.batches)
        batch = batch_of(
            number,
            generation=self.name,
            offsets={NAME: {"logOffset": number}},
            inputs=tuple(files),
            committed=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number),
        )
        self.batches.append(documents.put_if_absent(self.document(number), batch))

    def document(self, number: int) -> Path:
        return self.ledger / f"{number:06d}.json"

    def settle(self) -> tuple[SettledBatches, InputIndex]:
        before = read_settled_batches(self.ledger)
        first = 0 if before is None else before[0].last + 1
        if not settle_batches(self.ledger, self.batches[first:], before):
            settle_batches(self.ledger, self.batches, None)
        return self.look()

    def look(self) -> tuple[SettledBatches, InputIndex]:
        found = read_settled_batches(self.ledger)
        assert found is not None
        return found

    def assert_answers(self, found: tuple[SettledBatches, InputIndex]) -> None:
        """That a record and its index say what the batches say."""
        record, index = found
        expected = InputsRead(NAME, self.batches)
        source = record.sources[NAME]
        assert (record.last, source.files) == (len(self.batches) - 1, expected.count)
        assert (source.newest_ms, source.read) == (expected.newest_ms, True)
        for path in PATHS:
            assert index.at(NAME, path) == expected.at(Path(path))
        for size in SIZES:
            assert index.contents(NAME, size) == expected.contents(size)
        assert index.folders(NAME) == expected.folders()
        assert index.at("another", PATHS[0]) is None

    def segment_files(self) -> list[Path]:
        return sorted(folder_of(self.ledger).glob("*.sqlite"))


def read_at(now: int, path: str, content: int = 0, size: int = SIZES[0]) -> InputFile:
    """A file that was written just before it was read, as one that Spark reads again has to be."""
    sha256 = None if content == 0 else str(content)
    return InputFile(source=NAME, path=path, size=size, modified_ms=now, inode=now, sha256=sha256)


def some_files(random: Random, now: int) -> list[InputFile]:
    """Some that are new and some that are read again, of few contents."""
    return [
        read_at(now, path, random.randrange(6), random.choice(SIZES))
        for path in random.choices(PATHS, k=random.choice((0, 1, 1, 2, 9)))
    ]


@pytest.fixture(params=["on a disk", "in a bucket"])
def past(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Past:
    """One whose temporary files are its own, and whose segments are small."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr("tidemill.ledger.settle.FEW", 0)
    if request.param == "on a disk":
        return Past(tmp_path / "root")
    return Past(path_of(new_root_in_memory(monkeypatch)))


def grown(past: Past, sizes: Iterable[int]) -> list[tuple[SettledBatches, InputIndex]]:
    """What there is after each of some settlements of so many new files."""
    found = []
    number = 0
    for size in sizes:
        past.commit(read_at(number + n, f"/in/{number + n}.csv") for n in range(size))
        number += size
        found.append(past.settle())
    return found


def forget_copies(tmp_path: Path) -> None:
    """Do as another machine: nothing of a bucket is kept here."""
    for folder in (tmp_path / "tmp").iterdir():
        shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(2))
def test_segments_answer_as_the_batches_do(past: Past, seed: int) -> None:
    random = Random(seed)
    most = 0
    for number in range(25):
        past.commit(some_files(random, number))
        found = past.settle()
        past.assert_answers(found)
        most = max(most, len(found[0].segments))
    assert most > 2


def test_a_file_is_written_again_once_in_each_doubling(past: Past) -> None:
    records = [record for record, _ in grown(past, [1] * 32)]
    for record in records:
        files = [segment.files for segment in record.segments]
        assert sum(files) == record.sources[NAME].files
        assert all(older > RATIO * newer for older, newer in pairwise(files))
    assert max(len(record.segments) for record in records) <= 5
    assert sum(record.segments[-1].files for record in records) < 32 * 5


def test_what_is_large_stays_as_it_is(past: Past) -> None:
    (before, _), (after, index) = grown(past, [30, 2])
    assert after.segments[0] == before.segments[0]
    assert [segment.files for segment in after.segments] == [30, 2]
    assert index.at(NAME, "/in/3.csv") is not None


def test_a_source_without_files_has_no_segment(past: Past) -> None:
    past.commit([])
    record, index = past.settle()
    assert (record.segments, past.segment_files()) == ((), [])
    assert index.at(NAME, PATHS[0]) is None


def test_a_settlement_that_is_killed_leaves_the_record_before(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((before, _),) = grown(past, [30])
    past.commit([read_at(1, PATHS[0])])
    with monkeypatch.context() as patched:
        patched.setattr(documents, "put_if_absent", _killed)
        with pytest.raises(SystemExit):
            past.settle()
    (left,) = {*past.segment_files()} - {file_of(past.ledger, before.segments[0])}
    assert past.look()[0] == before
    for number in range(3):
        past.commit([read_at(2 + number, PATHS[1 + number])])
        past.assert_answers(past.settle())
    assert left not in past.segment_files()


def _killed(*_: object) -> None:
    raise SystemExit


@pytest.mark.parametrize("damage", ["gone", "torn"])
def test_a_segment_that_is_damaged_is_written_again(
    past: Past, damage: str, tmp_path: Path
) -> None:
    grown(past, [30, 2])
    forget_copies(tmp_path)
    file = past.segment_files()[0]
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:5000])
    assert read_settled_batches(past.ledger) is None
    past.commit([read_at(99, PATHS[0])])
    past.assert_answers(past.settle())


def test_a_segment_that_decays_is_done_without_by_the_next_look(past: Past) -> None:
    grown(past, [300, 2])
    _, index = past.look()
    first = index.segments[0].path
    content = first.read_bytes()
    # Its first page, the tables' names, is left.
    with first.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(len(content) - 4096))
    with pytest.raises(SegmentDamaged):
        index.at(NAME, "/in/7.csv")
    past.commit([read_at(999, PATHS[0])])
    record, index = past.settle()
    assert record.sources[NAME].files == 303
    assert index.at(NAME, "/in/7.csv") is not None


def test_a_ledger_that_goes_on_has_the_segments_too(past: Past, tmp_path: Path) -> None:
    ((before, _), _) = grown(past, [30, 2])
    fork = Past(past.root, "live-0002")
    for batch in past.batches:
        fork.commit(batch.inputs)
        fork.document(batch.batch).write_bytes(past.document(batch.batch).read_bytes())
    inherit_settled(past.ledger, fork.ledger, 1)
    first = before.segments[0]
    if not isinstance(past.ledger, ObjectPath):
        assert file_of(past.ledger, first).samefile(file_of(fork.ledger, first))
    fork.assert_answers(fork.look())
    remove_folder(past.ledger)
    forget_copies(tmp_path)
    fork.commit([read_at(99, PATHS[0])])
    fork.assert_answers(fork.settle())


@pytest.mark.parametrize("past", ["in a bucket"], indirect=True)
def test_a_segment_of_a_bucket_is_fetched_once(past: Past, tmp_path: Path) -> None:
    grown(past, [30, 2])
    forget_copies(tmp_path)
    past.look()
    for file in past.segment_files():
        file.unlink()
    past.assert_answers(past.look())
    # What is gone on from is in the bucket, or is written there again.
    past.commit([read_at(99, PATHS[0])])
    past.settle()
    forget_copies(tmp_path)
    past.assert_answers(past.look())
