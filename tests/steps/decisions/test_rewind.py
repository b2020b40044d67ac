"""A rewind: checkpoint, log and every target go back to the end of a run, and no further."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows, tree
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.remedies import carry_out
from tidemill.contract.report import Outcome, Report
from tidemill.generations.kept_rows import RowsNotKept
from tidemill.generations.verify import open_generation
from tidemill.increments.increments import State
from tidemill.increments.rewind_point import NotRewindable, RewindBlocked
from tidemill.journal.journal import Event
from tidemill.journal.published_files import files_now
from tidemill.journal.takeovers import current, owner
from tidemill.ledger.batch import Batch, OutputFile
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.reporting.pipeline_status import read_status
from tidemill.steps.decisions.rebuild import InputLost
from tidemill.steps.decisions.rewind import plan_rewind
from tidemill.steps.doctor import doctor
from tidemill.steps.gate import gate
from tidemill.steps.ingest import ingest
from tidemill.steps.parts.run import perform

BOTH = "publish: [{kind: delta}, {kind: files}]"


def back_to(run_id: str, **changes: object) -> RunRequest:
    asked = RunRequest(role="rewind", back_to=run_id, by="ada", reason="a bad release")
    return asked.model_copy(update=changes)


@pytest.fixture
def past(tmp_path: Path) -> History:
    """Three published increments with rejected rows, and a held one."""
    history = History(tmp_path / "pipeline", more=BOTH)
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    for number, record in enumerate("abc", 1):
        history.increment(rows(number), [reject(record)])
        history.publish()
    history.increment(rows(4), [reject("d")], outcome="held")
    return history


def rewound(history: History, request: RunRequest, run_id: str = "back") -> Report:
    fix_request(history.layout.run(run_id), request)
    for step, function in (("ingest", ingest), ("gate", gate)):
        report = perform(step, function, history.run(run_id))
        assert report.outcome is Outcome.DONE, report.error
    return history.publish(run_id)


def listed(history: History) -> list[str]:
    return sorted(Path(file.path).name for file in files_now(history.layout))


def good(batch: Batch) -> list[OutputFile]:
    return [file for file in batch.outputs if not file.rejected]


def last_swap(history: History) -> Event:
    return [event for event in history.snapshot.events if event.kind == "swap"][-1]


def last_event(history: History) -> Event:
    return history.snapshot.events[-1]


def test_every_target_goes_back_and_the_next_batch_is_the_one_after(past: History) -> None:
    before = tree(past.sink) | tree(past.ledger.folder) | tree(past.layout.journal)
    report = rewound(past, back_to("run-2"))

    assert report.outcome is Outcome.DONE
    assert past.ids() == [1, 2]
    assert past.records() == ["a", "b"]
    kept = [Path(file.path).name for batch in past.ledger.batches(0, 1) for file in good(batch)]
    assert listed(past) == sorted(kept)
    generation = open_generation(past.pipeline)
    assert (generation.name, generation.planned, generation.committed) == ("live-0002", 1, 1)
    assert generation.ledger.latest() == 1
    assert owner(past.layout, "live-0002", 1) == "live-0001"
    after = tree(past.sink) | tree(past.ledger.folder) | tree(past.layout.journal)
    assert {path: after[path] for path in before} == before


def test_the_journal_names_it_and_what_it_undid_is_superseded(past: History) -> None:
    rewound(past, back_to("run-2"))
    event = last_event(past)
    assert event.kind == "replace"
    assert event.recomputation is not None
    assert (event.recomputation.kind, event.recomputation.rewinds_to) == ("rewind", 2)
    assert (event.recomputation.by, event.recomputation.reason) == ("ada", "a bad release")
    states = {one.number: one.state for one in past.snapshot.increments}
    assert states[3] is states[4] is State.SUPERSEDED
    found = read_status(past.layout)
    assert [one.state for one in found.increments] == [
        *("published", "published", "superseded", "superseded", "published"),
    ]
    assert found.unpublished == ()


def test_doctor_reads_what_was_undone_again(past: History) -> None:
    rewound(past, back_to("run-2"))
    ended = doctor(past.run("next"))
    assert ended.outcome is Outcome.DONE
    assert ended.facts["new"] == {"orders": 2}


def test_what_was_computed_again_before_it_stays(past: History) -> None:
    made_again(
        past,
        [row(20), row(21)],
        [reject("n", day="2024-01-01")],
        partitions=days("2024-01-01"),
        replaces_rejects_of=("file:///in/x.csv",),
        last=2,
    )
    past.publish()
    past.release(4)
    past.publish()
    assert past.ids() == [4, 20, 21]
    rewound(past, back_to(last_swap(past).run_id))
    assert past.ids() == [20, 21]
    assert past.records() == ["n"]
    assert open_generation(past.pipeline).committed == 2


@pytest.mark.remedy("RewindBlocked")
def test_over_what_was_computed_again_it_does_not_go_back(past: History) -> None:
    made_again(past, [row(20)], partitions=days("2024-01-01"), last=2)
    past.publish()
    with pytest.raises(RewindBlocked) as refused:
        plan_rewind(past.pipeline, past.snapshot, back_to("run-2"))
    assert (refused.value.seq, refused.value.kind) == (4, "swap")
    carry_out(past, refused.value.remedy, "rebuild")


@pytest.mark.remedy("NotRewindable")
def test_it_goes_back_once_more_and_never_to_what_was_undone(past: History) -> None:
    rewound(past, back_to("run-2"))
    with pytest.raises(NotRewindable) as refused:
        plan_rewind(past.pipeline, past.snapshot, back_to("run-3"))
    carry_out(past, refused.value.remedy, "checkpoint show")
    rewound(past, back_to("run-1"), "further")
    assert past.ids() == [1]
    assert past.records() == ["a"]
    assert (current(past.layout), open_generation(past.pipeline).committed) == ("live-0003", 0)


def test_a_target_that_lags_or_comes_later_gets_the_rows_of_that_time(past: History) -> None:
    rewound(past, back_to("run-2"))
    shutil.rmtree(past.layout.published)
    for record in past.layout.journal.glob("*.files.json"):
        record.unlink()
    past.publish()
    assert len(listed(past)) == 2


def test_input_that_is_gone_is_said_before(past: History) -> None:
    (past.inputs / "f0002.csv").unlink()
    before = tree(past.layout.home)
    with pytest.raises(InputLost) as refused:
        plan_rewind(past.pipeline, past.snapshot, back_to("run-2"))
    assert refused.value.lost["files"] == 1
    assert tree(past.layout.home) == before
    carry_out(past, refused.value.remedy, "checkpoint rewind")
    assert past.ids() == [1, 2]


def test_a_file_of_that_time_that_is_gone_is_refused(past: History) -> None:
    past.files(0)[0].unlink()
    with pytest.raises(RowsNotKept) as refused:
        plan_rewind(past.pipeline, past.snapshot, back_to("run-2"))
    assert refused.value.seq == 2


def test_what_went_out_meanwhile_is_undone_too(past: History) -> None:
    fix_request(past.layout.run("back"), back_to("run-2"))
    perform("ingest", ingest, past.run("back"))
    perform("gate", gate, past.run("back"))
    past.release(4)
    past.publish("other")
    assert past.ids() == [1, 2, 3, 4]
    past.publish("back")
    assert past.ids() == [1, 2]


@pytest.mark.parametrize(
    ("mode", "keys", "left"),
    [("update", ("action", "hour"), [["close", 1], ["open", 2]]), ("complete", (), [["open", 2]])],
)
def test_merged_rows_are_those_of_that_time(
    tmp_path: Path, mode: str, keys: tuple[str, ...], left: list[list[object]]
) -> None:
    past = NetHistory(tmp_path / "net", mode=mode, keys=keys)
    past.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    past.pipeline.transform_file.touch()
    for counts in ([("open", 1), ("close", 1)], [("open", 2)], [("open", 3), ("close", 3)]):
        past.increment([count(action, 1, number) for action, number in counts])
        past.publish()
    rewound(past, back_to("run-2"))
    assert [[row[0], int(row[2])] for row in past.table()] == left
