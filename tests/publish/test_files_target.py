"""A list of the files that passed: each event once, in order, and nothing beside it."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.generations.verify_spec import OutputFormatChanged
from tidemill.journal.published_files import published_files
from tidemill.publish.files_target import FilesTarget
from tidemill.publish.target import HeadUnexplained, NotOurTurn
from tidemill.storage.lease import hold

LISTED = "publish: [{kind: files}]\n"


@pytest.fixture
def listed(tmp_path: Path) -> History:
    (tmp_path / "listed").mkdir()
    return History(tmp_path / "listed", more=LISTED)


def increment(history: History, *ids: int) -> None:
    history.batch(rows(*ids), [reject("bad")])
    history.judge(history.seal().increment)


def test_only_what_passed_is_listed(listed: History) -> None:
    increment(listed, 1, 2)
    assert listed.publish().outcome is Outcome.DONE
    listed.batch(rows(3))
    listed.judge(listed.seal().increment, "held")
    listed.publish()

    (published,) = published_files(listed.layout)
    assert (published.increment, published.rows, published.seq) == (1, 2, 1)
    good = [path for path in listed.files(0) if "HIVE_DEFAULT" not in str(path)]
    assert [listed.layout.home / file.path for file in published.files] == good
    assert [file.write_format.format for file in published.files] == ["parquet"] * len(good)
    columns = [field["name"] for field in published.table_schema["fields"]]
    assert columns == [*listed.columns.names, *listed.partitions]


def test_an_event_is_listed_once(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    (before,) = published_files(listed.layout)
    assert listed.publish().outcome is Outcome.DONE
    assert published_files(listed.layout) == [before]
    (event,) = listed.journal.events()
    assert FilesTarget(listed.layout, 99).find(event) == 1


def test_lists_have_no_gaps(listed: History) -> None:
    increment(listed, 1)
    increment(listed, 2)
    increment(listed, 3)
    listed.publish()
    first, *_, last = listed.journal.events()
    for number in (2, 3):
        (listed.layout.published / f"{number:06d}.json").unlink()
    with pytest.raises(NotOurTurn):
        FilesTarget(listed.layout, 99).apply(last, listed.payload(last))
    assert [one.seq for one in published_files(listed.layout)] == [first.seq]


def test_a_file_is_listed_with_rows_batch_and_partition(listed: History) -> None:
    listed.batch(rows(1))
    listed.batch([row(2), row(3, day=date(2024, 1, 2))])
    listed.judge(listed.seal().increment)
    listed.publish()
    (published,) = published_files(listed.layout)
    assert sorted((f.batch, f.rows, f.partition["day"]) for f in published.files) == [
        (0, 1, "2024-01-01"),
        (1, 1, "2024-01-01"),
        (1, 1, "2024-01-02"),
    ]


def test_a_list_that_the_journal_does_not_know_is_left_as_it_is(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    before = published_files(listed.layout)
    (listed.layout.journal / "000001.files.json").unlink()
    assert listed.publish().outcome is Outcome.DONE
    assert published_files(listed.layout) == before


def test_a_list_of_other_files_is_not_taken_for_ours(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    (event,) = listed.journal.events()
    other = event.model_copy(update={"files_hash": "0" * 64})
    target = FilesTarget(listed.layout, 99)
    assert target.find(other) is None
    with pytest.raises(HeadUnexplained):
        target.apply(other, listed.payload(event))


def test_a_folder_that_was_emptied_is_not_begun_in_the_middle(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    shutil.rmtree(listed.layout.published)
    increment(listed, 2)
    report = listed.publish()
    assert report.error is not None
    assert (report.error["code"], report.error["data"]["head"]) == ("NotOurTurn", 0)


def test_an_epoch_older_than_that_of_the_list_before_is_fenced_out(listed: History) -> None:
    increment(listed, 1)
    increment(listed, 2)
    listed.publish()
    place = listed.layout.published / "000001.json"
    first = published_files(listed.layout)[0].model_copy(update={"epoch": 100})
    place.write_text(first.model_dump_json())
    (listed.layout.published / "000002.json").unlink()
    _, second = listed.journal.events()
    with pytest.raises(LeaseLost):
        FilesTarget(listed.layout, 99).apply(second, listed.payload(second))


def test_whoever_lost_the_lease_lists_nothing(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    (event,) = listed.journal.events()
    (listed.layout.published / "000001.json").unlink()
    with hold(listed.layout.lease, step="publish", run_id="later") as lease:
        payload = listed.payload(event)
        with pytest.raises(LeaseLost):
            FilesTarget(listed.layout, lease.epoch - 1).apply(event, payload)
    assert published_files(listed.layout) == []


def test_a_generation_keeps_its_format(listed: History) -> None:
    increment(listed, 1)
    spec = listed.project.spec("orders")
    spec.write_text(spec.read_text().replace("output: {", "output: {format: csv, "))
    with pytest.raises(OutputFormatChanged) as refused:
        open_generation(listed.pipeline)
    assert (refused.value.born, refused.value.today) == ("parquet", "csv")
