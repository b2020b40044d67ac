"""The ledger: every committed batch is written down once, whole, with what made it."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.histories.history_builder import History, reject, row, rows, tree
from tests.support.histories.spark_log_builder import write_commit
from tests.support.listed_folders import listings
from tidemill.ledger.ledger import LedgerGap
from tidemill.ledger.start_list import StartUnknown


def test_a_batch_knows_what_it_read_and_wrote(history: History) -> None:
    source = history.arrive("a.csv", "id,at\n1,2\n")
    history.batch(rows(1, 2), [reject("bad")], inputs=[source])
    (batch,) = history.ledger.batches()
    (read,) = batch.inputs
    status = source.stat()
    assert (read.source, read.path) == ("orders", str(source))
    assert (read.size, read.modified_ms) == (status.st_size, status.st_mtime_ns // 1_000_000)
    assert (batch.rows, batch.rejected) == (2, 1)
    found = {(file.rejected, file.rows, file.partition["day"]) for file in batch.outputs}
    assert found == {(False, 2, "2024-01-01"), (True, 1, None)}
    for file in batch.outputs:
        assert file.size == (history.sink / file.path).stat().st_size
        assert file.uncompressed_bytes > 0
    assert batch.offsets == {"orders": {"logOffset": 0}}


def test_an_input_that_changed_before_it_was_written_down_has_no_size(history: History) -> None:
    source = history.arrive("a.csv")
    history.batch(rows(1), inputs=[source], commit=False)
    os.utime(source, (1, 1))
    write_commit(history.checkpoint, 0)
    history.ledger.complete()
    assert history.ledger.batches()[0].inputs[0].size is None
    assert history.ledger.batches()[0].inputs[0].modified_ms != 1000


def test_an_input_that_is_gone_before_it_was_written_down_has_no_size(history: History) -> None:
    source = history.arrive("a.csv")
    history.batch(rows(1), inputs=[source], commit=False)
    source.unlink()
    write_commit(history.checkpoint, 0)
    history.ledger.complete()
    assert history.ledger.batches()[0].inputs[0].size is None


def test_what_is_written_down_is_never_written_again(history: History) -> None:
    history.batch(rows(1))
    history.batch(rows(2))
    before = tree(history.layout.ledger("live-0001"))
    assert history.ledger.complete() == []
    assert tree(history.layout.ledger("live-0001")) == before


def test_the_ledger_is_listed_once_by_whoever_follows_a_query(history: History) -> None:
    history.batch(rows(1))
    following = history.ledger
    assert following.latest() == 0
    for number in (1, 2):
        # Written down by somebody else, or by this ledger itself.
        history.batch(rows(2))
        with listings(following.folder) as listed:
            assert following.complete() == []
            assert following.latest() == number
        assert listed == []


def test_only_committed_batches_are_written_down(history: History) -> None:
    history.batch(rows(1), commit=False)
    assert history.ledger.complete() == []
    write_commit(history.checkpoint, 0)
    assert [batch.batch for batch in history.ledger.complete()] == [0]


def test_several_batches_are_made_up_for_in_order(history: History) -> None:
    for number in range(3):
        history.batch(rows(number), commit=False)
    for number in range(3):
        write_commit(history.checkpoint, number)
    assert [batch.batch for batch in history.ledger.complete({1: 17})] == [0, 1, 2]
    assert [batch.rows_in for batch in history.ledger.batches()] == [None, 17, None]


def test_a_batch_belongs_to_the_start_that_wrote_its_files(history: History) -> None:
    first = history.start()
    history.batch(rows(1))
    # Written by this driver, which was killed before the commit; the next one only commits it.
    history.batch(rows(2), commit=False)
    second = history.start()
    write_commit(history.checkpoint, 1)
    history.ledger.complete()
    history.batch(rows(3))
    assert [batch.start for batch in history.ledger.batches()] == [first, first, second]


def test_a_batch_that_was_only_planned_belongs_to_the_next_start(history: History) -> None:
    history.batch(rows(1))
    second = history.start()
    history.batch(rows(2))
    assert history.ledger.batches()[1].start == second


def test_without_its_start_a_batch_is_refused(history: History) -> None:
    history.batch(rows(1), commit=False)
    for start in (history.layout.ledger("live-0001") / "starts").iterdir():
        start.unlink()
    write_commit(history.checkpoint, 0)
    with pytest.raises(StartUnknown) as refused:
        history.ledger.complete()
    assert refused.value.batch == 0


@pytest.mark.parametrize("log", ["commits", "offsets"])
@pytest.mark.parametrize("gone", [0, 1])
def test_a_batch_that_spark_forgot_before_it_was_written_down_is_refused(
    history: History, log: str, gone: int
) -> None:
    for number in range(3):
        history.batch(rows(number), commit=False)
    for number in range(3):
        write_commit(history.checkpoint, number)
    (history.checkpoint / log / str(gone)).unlink()
    with pytest.raises(LedgerGap) as refused:
        history.ledger.complete()
    assert refused.value.batch == gone
    assert history.ledger.latest() == -1


def test_what_spark_forgot_since_is_in_the_ledger(history: History) -> None:
    for number in range(3):
        history.batch(rows(number))
    for log in ("commits", "offsets"):
        (history.checkpoint / log / "0").unlink()
    history.batch(rows(3))
    assert [batch.batch for batch in history.ledger.batches()] == [0, 1, 2, 3]


def test_a_batch_without_data_is_a_batch(history: History) -> None:
    history.batch(rows(1))
    history.batch([])
    batch = history.ledger.batches()[1]
    assert (batch.outputs, batch.rows, batch.rejected) == ((), 0, 0)


def test_batches_are_read_from_one_to_another(history: History) -> None:
    for number in range(4):
        history.batch(rows(number))
    ledger = history.ledger
    assert [batch.batch for batch in ledger.batches(1, 2)] == [1, 2]
    assert [batch.batch for batch in ledger.batches(first=3)] == [3]
    assert ledger.batches(first=4) == []
    with pytest.raises(LedgerGap) as refused:
        ledger.batches(2, 4)
    assert refused.value.batch == 4


def test_rejected_rows_of_a_sink_without_partitions_are_told_by_their_directory(
    tmp_path: Path,
) -> None:
    history = History(tmp_path / "plain", partitions={})
    history.batch(rows(1, 2), [reject("a")])
    (batch,) = history.ledger.batches()
    assert {(file.rejected, file.rows) for file in batch.outputs} == {(False, 2), (True, 1)}
    assert all(file.partition == {} for file in batch.outputs)


def test_a_row_with_one_of_two_partitions_is_no_rejected_one(tmp_path: Path) -> None:
    kinds = {"day": pa.date32(), "k": pa.string()}
    history = History(tmp_path / "two", partitions=kinds)
    history.batch([row(1, day=date(2024, 1, 1), k=None)], [reject("a")])
    (batch,) = history.ledger.batches()
    assert {(file.rejected, file.rows) for file in batch.outputs} == {(False, 1), (True, 1)}
