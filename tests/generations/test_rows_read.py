"""A batch that has not read each row of its files once is never written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.rolled_history import RolledHistory
from tests.support.histories.spark_log_builder import write_commit
from tests.support.remedies import carry_out
from tidemill.generations.rows_read import BooksUnbalanced, InputReadAgain, RowsReadAmiss
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import current
from tidemill.ledger.batch import Batch, RowsPerRow


def recorded(
    home: Path, rows_in: int | None, *, good: int = 2, per_row: RowsPerRow = "any"
) -> Batch:
    """A batch of two files with a row and two rows, of which Spark says that it has read some."""
    history = History(home, rows_per_row=per_row)
    files = [history.arrive("a.csv", "id,at\n1,\n"), history.arrive("b.csv", "id,at\n2,\n\n3,\n")]
    history.batch(rows(*range(good)), [reject("x")], inputs=files, commit=False)
    write_commit(history.checkpoint, 0)
    counts = {} if rows_in is None else {0: rows_in}
    (batch,) = open_generation(history.pipeline).ledger.complete(counts)
    return batch


@pytest.mark.parametrize("rows_in", [3, None])
def test_the_rows_of_each_file_are_in_the_ledger(tmp_path: Path, rows_in: int | None) -> None:
    batch = recorded(tmp_path, rows_in)
    assert [(file.on_disk.name, file.rows) for file in batch.inputs] == [("a.csv", 1), ("b.csv", 2)]
    assert len(list(tmp_path.rglob("ledger/*/000000.json"))) == 1
    assert sum(file.rows or 0 for file in batch.inputs) == batch.rows + batch.rejected


@pytest.mark.remedy("RowsReadAmiss")
@pytest.mark.parametrize(("rows_in", "good"), [(4, 2), (6, 5), (2, 1)])
def test_a_file_that_is_read_twice_or_not_at_all_stops_the_run(
    tmp_path: Path, rows_in: int, good: int
) -> None:
    with pytest.raises(RowsReadAmiss) as refused:
        recorded(tmp_path, rows_in, good=good)
    assert (refused.value.read, refused.value.held) == (rows_in, 3)
    assert [Path(file).name for file in refused.value.files] == ["a.csv", "b.csv"]
    assert list(tmp_path.rglob("ledger/*/000000.json")) == []
    carry_out(History(tmp_path), refused.value.remedy, "rebuild")


def test_rows_that_spark_need_not_read_are_missed_by_nobody(tmp_path: Path) -> None:
    assert recorded(tmp_path, 2, good=0).rows_in == 2


@pytest.mark.remedy("BooksUnbalanced")
@pytest.mark.parametrize(
    ("rows_in", "good", "per_row", "amiss"),
    [(3, 1, "one", 1), (3, 3, "one", -1), (3, 4, "at_most_one", -2)],
)
def test_books_that_do_not_add_up_stop_the_run(
    tmp_path: Path, rows_in: int, good: int, per_row: RowsPerRow, amiss: int
) -> None:
    with pytest.raises(BooksUnbalanced) as refused:
        recorded(tmp_path, rows_in, good=good, per_row=per_row)
    assert (refused.value.amiss, refused.value.rejected) == (amiss, 1)
    assert list(tmp_path.rglob("ledger/*/000000.json")) == []
    carry_out(History(tmp_path), refused.value.remedy, "rebuild")


@pytest.mark.parametrize(("good", "per_row"), [(2, "one"), (1, "at_most_one"), (9, "any")])
def test_books_that_add_up_or_cannot_are_written_down(
    tmp_path: Path, good: int, per_row: RowsPerRow
) -> None:
    assert recorded(tmp_path, 3, good=good, per_row=per_row).rows_per_row == per_row


@pytest.mark.remedy("InputReadAgain")
def test_a_file_that_comes_back_after_a_rollover_is_not_read_again(tmp_path: Path) -> None:
    history = RolledHistory(tmp_path, more="rollover: {after_batches: 1}")
    file = history.arrive("a.csv", "id,at\n1,\n")
    history.batch(rows(1), inputs=[file])
    history.judge(history.seal().increment)
    history.publish()
    assert current(history.layout) == "live-0002"
    # It came after the query had listed the folder that Spark is told of.
    history.batch(rows(1), inputs=[file], commit=False)
    write_commit(history.checkpoint, 1)
    with pytest.raises(InputReadAgain) as refused:
        open_generation(history.pipeline).ledger.complete()
    assert (refused.value.batch, refused.value.files) == (1, [str(file)])
    assert history.ledger.latest() == 0
    carry_out(history, refused.value.remedy, "rebuild")
