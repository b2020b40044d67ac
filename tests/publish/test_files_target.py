"""A list of the files that passed: each event once, in order, and nothing beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contract.errors import LeaseLost
from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.generation import OutputFormatChanged, open_generation
from spark_jobs.ledger.lease import hold
from spark_jobs.publish.files_target import FilesTarget, published_files
from spark_jobs.publish.target import NotOurTurn
from tests.histories import History, reject, rows

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
    assert [file.path for file in published.files] == good
    assert [file.written.format for file in published.files] == ["parquet"] * len(good)
    assert list(published.columns) == [*listed.columns.names, *listed.partitions]


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
        (listed.layout.files / f"{number:06d}.json").unlink()
    with pytest.raises(NotOurTurn):
        FilesTarget(listed.layout, 99).apply(last, listed.payload(last))
    assert [one.seq for one in published_files(listed.layout)] == [first.seq]


def test_whoever_lost_the_lease_lists_nothing(listed: History) -> None:
    increment(listed, 1)
    listed.publish()
    (event,) = listed.journal.events()
    (listed.layout.files / "000001.json").unlink()
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
