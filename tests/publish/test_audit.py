"""The books: what was judged, what is on disk and what becomes visible are one number."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.report import Outcome
from tidemill.increments.increments import Verdict, hash_of_files
from tidemill.ledger.ledger import Batch
from tidemill.publish.audit import BooksDisagree


@pytest.fixture
def passed(history: History) -> History:
    """One increment published, and a passed one of two files, one of them of rejected rows."""
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2, 3, 4), [reject("a"), reject("b")])
    return history


def refused(history: History) -> dict[str, object]:
    """What the books said; neither table has a commit more than before."""
    before = (history.log(), history.log(history.layout.rejected))
    report = history.publish("run-2")
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == BooksDisagree.__name__
    assert (history.log(), history.log(history.layout.rejected)) == before
    assert (history.ids(), history.records()) == ([1], [])
    data: dict[str, object] = report.error["data"]
    assert data["increment"] == 2
    return data


def data_file(history: History, *, rejected: bool = False) -> Path:
    (batch,) = history.ledger.batches(first=1)
    (file,) = [file for file in batch.outputs if file.rejected is rejected]
    return history.sink / file.path


def test_books_that_agree(passed: History) -> None:
    passed.publish()
    assert (passed.ids(), passed.records()) == ([1, 2, 3, 4], ["a", "b"])


@pytest.mark.parametrize("rejected", [False, True])
def test_a_file_that_is_gone(passed: History, rejected: bool) -> None:
    file = data_file(passed, rejected=rejected)
    file.unlink()
    assert refused(passed)["missing"] == [str(file.relative_to(passed.sink))]


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.parametrize("kept", [0, 1, 100])
def test_a_file_that_was_cut_off(passed: History, rejected: bool, kept: int) -> None:
    file = data_file(passed, rejected=rejected)
    size = file.stat().st_size
    os.truncate(file, kept)
    said = refused(passed)
    assert said["path"] == str(file)
    assert (said["unit"], said["judged"], said["found"]) == ("bytes", size, kept)


def test_a_file_with_other_rows_in_as_many_bytes(passed: History) -> None:
    file = data_file(passed)
    table, size = pq.read_table(file), file.stat().st_size
    pq.write_table(table.slice(0, 2), file)
    fewer = file.read_bytes()
    # Padded between data and footer, where no reader looks.
    footer = int.from_bytes(fewer[-8:-4], "little") + 8
    file.write_bytes(fewer[:-footer] + b"\0" * (size - len(fewer)) + fewer[-footer:])
    assert file.stat().st_size == size
    said = refused(passed)
    assert (said["path"], said["unit"]) == (str(file), "rows")
    assert (said["judged"], said["found"]) == (3, 2)


def test_a_ledger_that_names_other_files_than_were_judged(passed: History) -> None:
    place = passed.layout.ledger("live-0001") / "000001.json"
    batch = Batch.model_validate_json(place.read_bytes())
    outputs = tuple(file for file in batch.outputs if not file.rejected)
    fewer = batch.model_copy(update={"outputs": outputs, "rejected": 0})
    place.write_text(fewer.model_dump_json())
    assert hash_of_files([fewer]) != hash_of_files([batch])
    refused(passed)


def test_a_verdict_on_another_set(passed: History) -> None:
    found = passed.snapshot.get(2).verdict
    assert found is not None
    other: Verdict = found.model_copy(update={"files_hash": "0" * 64})
    passed.increments.judge(other)
    refused(passed)


def test_a_seal_with_other_counts(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.batch(rows(2), [reject("a")])
    seal = history.layout.increments / "000002" / "sealed.json"
    sealed = history.seal()
    seal.write_text(sealed.model_copy(update={"rows": 2, "rejected": 0}).model_dump_json())
    history.judge(2)
    said = refused(history)
    assert (said["visible"], said["rejected"]) == (1, 1)


def test_after_the_file_was_restored_it_goes_out(passed: History) -> None:
    file = data_file(passed)
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    refused(passed)
    file.write_bytes(content)
    assert passed.publish("run-2").outcome is Outcome.DONE
    assert (passed.ids(), passed.records()) == ([1, 2, 3, 4], ["a", "b"])
