"""A fork under another name in a bucket, where no folder comes to its place at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.s3 import S3
from tests.steps.decisions.test_named_fork import NEW, WHO, filled, forked
from tests.support.histories.history_builder import History
from tests.support.kills.killed_step import killed_at
from tests.support.remedies import carry_out
from tests.support.s3_root import history_in_bucket
from tidemill.contract.report import Report
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import read_takeovers
from tidemill.ledger.ledger import Ledger
from tidemill.steps.decisions import named_fork_place as place
from tidemill.steps.decisions.drop import drop
from tidemill.steps.decisions.named_fork import named_fork
from tidemill.steps.decisions.relocate import relocate
from tidemill.steps.decisions.rename import NameTaken
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.old_documents import half_forks
from tidemill.storage.lease import hold
from tidemill.storage.relocations import RelocationUnfinished
from tidemill.storage.run_context import RunContext


@pytest.fixture
def past(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> History:
    """Two published increments, and one that is held."""
    history = history_in_bucket(tmp_path, s3, monkeypatch)
    return filled(history)


def look(history: History) -> Report:
    """What the doctor of the fork's next run finds."""
    return perform("doctor", doctor, RunContext(forked(history), "next", lambda _: None))


def assert_whole(history: History) -> None:
    fork = forked(history)
    found = open_generation(fork)
    assert (found.name, found.planned, found.committed) == ("live-0002", 1, 1)
    assert [*Ledger(fork.layout, "live-0001").batches()] == [*history.ledger.batches(last=1)]
    (takeover,) = read_takeovers(fork.layout.home)
    assert (takeover.pipeline, takeover.first) == (history.name, 2)
    report = look(history)
    assert report.facts["new"] == {"orders": 1}, report.error
    with hold(fork.layout.lease, step="ingest", run_id="next", patience=0.0) as lease:
        assert lease.epoch > max(one.epoch for one in history.ledger.starts())
    assert not history.layout.forks.is_dir()


def test_a_fork_reads_what_the_original_has_not_published(past: History) -> None:
    named_fork(past.run("fork"), NEW, **WHO)
    assert_whole(past)
    with pytest.raises(NameTaken):
        named_fork(past.run("again"), NEW, **WHO)


@pytest.mark.parametrize("killed", ["copy_folder", "hold", "begin_relocation", "names_in"])
def test_a_fork_that_was_killed_before_its_place_was_certain_is_built_again(
    past: History, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    with killed_at(monkeypatch, place, killed):
        named_fork(past.run("fork"), NEW, **WHO)
    named_fork(past.run("again"), NEW, **WHO)
    assert_whole(past)


@pytest.mark.remedy("RelocationUnfinished")
def test_half_copied_it_is_refused_to_its_runs_and_finished_by_the_next(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, place, "end_relocation"):
        named_fork(past.run("fork"), NEW, **WHO)
    refused = look(past).error
    assert refused is not None
    assert refused["code"] == "RelocationUnfinished"
    with (
        pytest.raises(RelocationUnfinished),
        hold(forked(past).layout.lease, step="ingest", run_id="x"),
    ):
        raise AssertionError
    with pytest.raises(RelocationUnfinished):
        relocate(forked(past), "relocate")
    # It is needed still.
    assert [*half_forks(past.layout)] == []
    carry_out(past, refused["remedy"], "checkpoint fork")
    assert_whole(past)


def test_half_copied_it_may_be_dropped(past: History, monkeypatch: pytest.MonkeyPatch) -> None:
    with killed_at(monkeypatch, place, "end_relocation"):
        named_fork(past.run("fork"), NEW, **WHO)
    fork = forked(past).layout
    assert [*drop(fork, table=True, run_id="drop")]
    assert not fork.home.is_dir()
    assert len([*half_forks(past.layout)]) == 1
    named_fork(past.run("again"), NEW, **WHO)
    assert_whole(past)


def test_a_name_that_a_run_has_taken_meanwhile_is_left_to_it(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, place, "hold"):
        named_fork(past.run("fork"), NEW, **WHO)
    look(past)
    with pytest.raises(NameTaken):
        named_fork(past.run("again"), NEW, **WHO)
    assert read_takeovers(forked(past).layout.home) == []
