"""The parts of a fork: cut at one batch, all of them, whole or not live at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, row, rows, tree
from tests.support.remedies import carry_out
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.build import begin_build
from tidemill.generations.verify import open_generation
from tidemill.increments.increments import State
from tidemill.journal.takeovers import current, owner, read_takeovers
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_request import RunRequest
from tidemill.reporting.pipeline_status import read_status
from tidemill.spark_logs.checkpoint_fork import ForkPointGone
from tidemill.steps.decisions.check_request import asked
from tidemill.steps.decisions.fork import fork_generation
from tidemill.steps.decisions.redo import redo
from tidemill.steps.parts.seal import seal
from tidemill.steps.parts.unpublished import NothingToRedo
from tidemill.storage.lease import hold

ASKED = RunRequest(role="redo", by="ada", reason="the sums were wrong")


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def windowed(tmp_path: Path) -> History:
    """Two published batches, then a held one, one behind it, and an unsealed one."""
    history = History(tmp_path / "pipeline", pipeline_class=PipelineClass.WINDOW)
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.increment(rows(0))
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))
    history.batch(rows(4))
    state = history.checkpoint / "state" / "0"
    for name in ("_metadata/metadata", "0/SSTs/1-a.sst", "0/2.zip", "0/1.changelog"):
        put(state / name)
    for version in range(2, 6):
        put(state / "0" / f"{version}.changelog")
        put(state / "0" / f".{version}.changelog.crc")
    put(state / "0" / "4.zip")
    put(history.checkpoint / "state" / "1" / "0" / "4.changelog")
    return history


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("state")


def forked(history: History, request: RunRequest = ASKED) -> str:
    with history.run("redo").hold("ingest") as held:
        return fork_generation(held, request).generation


def test_it_is_cut_before_the_first_unpublished_batch(windowed: History) -> None:
    before = tree(windowed.sink) | tree(windowed.checkpoint) | tree(windowed.ledger.folder)
    assert forked(windowed) == current(windowed.layout) == "live-0002"
    fork = open_generation(windowed.pipeline)
    assert (fork.planned, fork.committed, fork.written) == (1, 1, 1)
    assert fork.ledger.batches() == windowed.ledger.batches(last=1)
    assert fork.log.files_of(1) == ()
    state = {str(path) for path in tree(fork.checkpoint.path / "state")}
    names = {Path(path).name for path in state}
    assert {"metadata", "1-a.sst", "2.zip", "1.changelog", "2.changelog"} <= names
    assert not names & {"3.changelog", ".3.changelog.crc", "4.zip", "4.changelog"}
    assert [len(found) for found in fork.checkpoint.inputs("orders").values()] == [1, 1]
    assert fork.note is not None
    assert fork.note.query_id == fork.checkpoint.query_id != "86022cb6"
    after = tree(windowed.sink) | tree(windowed.checkpoint) | tree(windowed.ledger.folder)
    assert after == before


def test_what_was_held_is_superseded_and_sealing_goes_on_after_the_cut(windowed: History) -> None:
    forked(windowed)
    states = [one.state for one in windowed.snapshot.increments]
    assert states == [State.PASSED, State.PASSED, State.SUPERSEDED, State.SUPERSEDED]
    assert [one.number for one in windowed.snapshot.in_order()] == [1, 2]
    assert windowed.snapshot.last_sealed("live-0002") == 1
    with windowed.run("gate").hold("gate") as held:
        assert seal(held, windowed.snapshot) is None
    assert owner(windowed.layout, "live-0002", 1) == "live-0001"
    assert owner(windowed.layout, "live-0002", 2) == "live-0002"


def test_killed_at_any_write_it_is_not_live_and_its_retry_makes_it_so(
    windowed: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = 0
    with hold(windowed.layout.lease, step="ingest", run_id="redo") as lease:
        while current(windowed.layout) == "live-0001":
            allowed += 1
            with monkeypatch.context() as patched:
                left = [allowed]
                for where, name in ((os, "link"), (Path, "write_text")):
                    patched.setattr(where, name, dying(getattr(where, name), left))
                try:
                    fork_generation(windowed.run("redo").holding(lease), ASKED)
                except KilledError:
                    assert read_takeovers(windowed.layout.home) == []
            assert open_generation(windowed.pipeline).note is not None
    assert allowed > 20
    assert current(windowed.layout) == "live-0002"
    assert open_generation(windowed.pipeline).committed == 1
    # Asked again it is there already.
    assert forked(windowed) == "live-0002"
    assert len(read_takeovers(windowed.layout.home)) == 1


def dying(write: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def either(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KilledError
        return write(*given, **named)

    return either


@pytest.mark.remedy("ForkPointGone")
@pytest.mark.parametrize(
    "forgotten", ["state/0/0/1.changelog state/0/0/2.zip", "offsets/1", "sources/orders/1"]
)
def test_what_spark_has_forgotten_is_refused_and_nothing_changes(
    windowed: History, forgotten: str
) -> None:
    for name in forgotten.split():
        (windowed.checkpoint / name).unlink()
    if forgotten == "sources/orders/1":
        # A later compaction stands for it, and does not tell which were there then.
        whole = windowed.checkpoint / "sources" / "orders"
        whole.joinpath("0").unlink()
    with pytest.raises(ForkPointGone) as refused:
        forked(windowed)
    assert refused.value.batch == 1
    assert current(windowed.layout) == "live-0001"
    carry_out(windowed, refused.value.remedy, "rebuild")


def test_without_anything_published_all_of_it_is_taken_in_again(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline", pipeline_class=PipelineClass.WINDOW)
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.increment([row(1)], outcome="held")
    assert forked(history) == "live-0002"
    fork = open_generation(history.pipeline)
    assert fork.checkpoint.latest_offsets is None
    assert fork.note is None
    assert Ledger(history.layout, "live-0002").batches() == []
    # A retry, and a doctor that is cleared, find it there.
    assert redo(history.run("redo"), ASKED).facts["forked"] == "live-0002"
    again = asked(history.run("redo"), ASKED, open_generation(history.pipeline))
    assert again.outcome is Outcome.DONE


def test_with_everything_published_there_is_nothing_to_fork(windowed: History) -> None:
    for increment in windowed.snapshot.increments:
        if increment.state is not State.PASSED:
            windowed.release(increment.number)
    windowed.seal()
    windowed.judge(5)
    windowed.publish()
    with pytest.raises(NothingToRedo):
        forked(windowed)


def test_status_shows_the_fork_and_counts_nothing_that_was_superseded(windowed: History) -> None:
    begin_build(windowed.pipeline, "rebuild", "abandoned")
    forked(windowed)
    found = read_status(windowed.layout)
    assert (found.generation, found.building) == ("live-0003", ("live-0002",))
    assert (found.batches, found.unsealed, found.unpublished) == (2, 0, ())


def test_a_fork_that_has_published_nothing_goes_on_from_what_was_published(
    windowed: History,
) -> None:
    generation = forked(windowed)
    assert windowed.snapshot.last_published(generation) == 1
