"""A fork under another name: a pipeline of its own, which goes on from a batch of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.kills.killed_step import killed_at
from tests.support.remedies import carry_out
from tests.support.table_reader import tree
from tidemill.contract.layout import Layout
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import Excluded, excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import read_takeovers
from tidemill.ledger.ledger import Ledger
from tidemill.publish.head import Head, TableTaken, Turn
from tidemill.publish.target import NotOurTurn
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions import named_fork as step
from tidemill.steps.decisions import named_fork_place as place
from tidemill.steps.decisions import named_fork_plan as plan
from tidemill.steps.decisions.copy_pipelines import CopyReachesOut
from tidemill.steps.decisions.named_fork import named_fork
from tidemill.steps.decisions.named_fork_plan import (
    NotForkable,
    RecordsExcluded,
    SpecNotCopied,
    plan_named_fork,
)
from tidemill.steps.decisions.reject import reject as reject_increment
from tidemill.steps.decisions.rename import NameTaken
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.steps.doctor import doctor
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.storage.erasures import read_erasures
from tidemill.storage.lease import LeaseHeld, hold
from tidemill.storage.run_context import RunContext

NEW = "trial"
WHO = {"by": "ada", "reason": "new code"}
DATABASE = "publish: [{kind: delta}, {kind: postgres, conn_id: mill, table: orders}]"


@pytest.fixture
def past(make_history: Callable[..., History], monkeypatch: pytest.MonkeyPatch) -> History:
    """Two published increments, and one that is held."""
    history = make_history()
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(history.project.home))
    transform = history.project.transform(history.name).with_suffix(".py")
    transform.parent.mkdir(parents=True, exist_ok=True)
    transform.write_text("def transform(orders): ...\n")
    return filled(history)


def filled(history: History) -> History:
    """The same history, with two published increments and one that is held."""
    for number in (1, 2):
        history.increment(rows(number), [reject(str(number))])
        history.publish()
    history.increment(rows(3), outcome="held")
    return history


def forked(history: History) -> Pipeline:
    return replace(history.pipeline, name=NEW, layout=Layout(history.root, NEW))


def test_a_fork_reads_what_the_original_has_not_published(past: History) -> None:
    books = tree(past.layout.journal) | tree(past.layout.table) | tree(past.ledger.folder)
    plan = named_fork(past.run("fork"), NEW, **WHO)

    assert tree(past.layout.journal) | tree(past.layout.table) | tree(past.ledger.folder) == books
    assert (plan.generation, plan.first) == ("live-0001", 2)
    fork = forked(past)
    found = open_generation(fork)
    assert (found.name, found.planned, found.committed) == ("live-0002", 1, 1)
    assert found.ledger.latest() == 1
    assert not [*found.log.files]
    history = Snapshot(fork.layout)
    assert (history.events, history.last_published("live-0002")) == ([], 1)
    assert [*Ledger(fork.layout, "live-0001").batches()] == [*past.ledger.batches(last=1)]
    assert doctor(RunContext(fork, "next", lambda _: None)).facts["new"] == {"orders": 1}
    (takeover,) = read_takeovers(fork.layout.home)
    assert (takeover.pipeline, takeover.by) == (past.name, "ada")


def test_its_next_start_is_a_later_epoch_than_those_in_its_ledger(past: History) -> None:
    named_fork(past.run("fork"), NEW, **WHO)
    fork = forked(past)
    with hold(fork.layout.lease, step="ingest", run_id="next", patience=0.0) as lease:
        assert lease.epoch > max(one.epoch for one in past.ledger.starts())


def test_rows_that_were_erased_stay_out_of_a_fork(past: History) -> None:
    erase(past.run("erase"), Condition({"text": ("ann@example.org",)}), **WHO)
    named_fork(past.run("fork"), NEW, **WHO)
    erased = read_erasures(forked(past).layout.home)
    assert [one.number for one in erased] == [1]
    assert erased == read_erasures(past.layout.home)


def test_an_empty_table_of_its_own_begins_with_its_first_batch(past: History) -> None:
    named_fork(past.run("fork"), NEW, **WHO)
    event = past.journal.events()[-1].model_copy(
        update={"generation": "live-0002", "seq": 1, "first": 2, "last": 2}
    )
    fork = Turn(forked(past).layout, 99, "postgres", "trial", "drop it")
    assert not fork.has(Head(NEW), event)
    with pytest.raises(NotOurTurn):
        fork.has(Head(NEW), event.model_copy(update={"first": 3, "last": 3}))
    with pytest.raises(TableTaken):
        fork.has(Head(past.name, "live-0001", 1), event)


def test_spec_and_transform_are_copied_where_there_are_none(past: History) -> None:
    plan = named_fork(past.run("fork"), NEW, **WHO)
    spec, transform = past.project.spec(NEW), past.project.transform(NEW).with_suffix(".py")
    assert [*plan.files] == [transform, spec]
    assert spec.read_text() == past.pipeline.spec_file.read_text()
    with pytest.raises(NameTaken):
        named_fork(past.run("again"), NEW, **WHO)


def test_a_spec_that_was_written_first_is_left_as_it_is(past: History) -> None:
    text = past.pipeline.spec_file.read_text() + "description: another\n"
    past.project.spec(NEW).write_text(text)
    assert named_fork(past.run("fork"), NEW, **WHO).files == {}
    assert past.project.spec(NEW).read_text() == text


def test_a_plan_changes_nothing(past: History) -> None:
    before = tree(past.home)
    planned = plan_named_fork(past.pipeline, NEW)
    assert tree(past.home) == before
    assert (planned.first, planned.built) == (2, False)


def test_it_goes_on_after_an_earlier_run_and_from_a_snapshot(past: History) -> None:
    keep_snapshot(past.run("keep"), "ada")
    for log in ("offsets", "commits"):
        (past.checkpoint / log / "0").unlink()
    run = past.ledger.batches(0, 0)[0].run_id
    assert plan_named_fork(past.pipeline, NEW, run).first == 2
    named_fork(past.run("fork"), NEW, run, **WHO)
    assert open_generation(forked(past)).committed == 1


@pytest.mark.parametrize(
    ("module", "killed"), [(step, "put_takeover"), (place, "sync_folder"), (step, "put_whole")]
)
def test_a_fork_that_was_killed_is_finished_by_the_next(
    past: History, monkeypatch: pytest.MonkeyPatch, module: ModuleType, killed: str
) -> None:
    with killed_at(monkeypatch, module, killed):
        named_fork(past.run("fork"), NEW, **WHO)
    # A run cannot begin without its state.
    assert not past.project.spec(NEW).exists()
    named_fork(past.run("again"), NEW, **WHO)
    assert past.project.spec(NEW).exists()
    assert open_generation(forked(past)).committed == 1


def test_a_target_that_both_would_write_to_is_refused(past: History) -> None:
    past.write_spec(more=DATABASE)
    before = tree(past.home)
    with pytest.raises(CopyReachesOut) as refused:
        plan_named_fork(past.pipeline, NEW)
    assert "postgres" in refused.value.field
    assert tree(past.home) == before
    text = past.pipeline.spec_file.read_text().replace(DATABASE, "")
    past.project.spec(NEW).write_text(text)
    assert plan_named_fork(past.pipeline, NEW).first == 2


@pytest.mark.remedy("NotForkable")
def test_a_run_that_is_not_published_is_refused(past: History) -> None:
    with pytest.raises(NotForkable) as refused:
        plan_named_fork(past.pipeline, NEW, "never")
    carry_out(past, refused.value.remedy, "checkpoint show")


def test_without_a_published_batch_there_is_nothing_to_go_on_from(
    make_history: Callable[..., History],
) -> None:
    history = make_history()
    history.increment([row(1)], outcome="held")
    with pytest.raises(NotForkable) as refused:
        plan_named_fork(history.pipeline, NEW)
    assert refused.value.pipeline == history.name


def test_a_template_is_not_copied(past: History) -> None:
    spec = past.pipeline.spec_file
    pipeline = past.pipeline
    spec.write_text("each: [{name: orders}]\n" + spec.read_text())
    with pytest.raises(SpecNotCopied):
        plan_named_fork(pipeline, NEW)


def test_while_the_original_runs_it_is_not_forked(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "PATIENCE_SECONDS", 0.0)
    lease = hold(past.layout.lease, step="ingest", run_id="ingest")
    with lease, pytest.raises(LeaseHeld):
        named_fork(past.run("fork"), NEW, **WHO)
    assert not (past.root / NEW).exists()


@pytest.mark.remedy("RecordsExcluded")
def test_records_that_a_person_rejected_are_not_read_by_a_fork(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    reject_increment(past.pipeline, 3, by="ada", reason="a test", run_id="reject")
    assert plan_named_fork(past.pipeline, NEW).first == 2
    # As if its source were a topic: records cannot be left out by name, as files are.
    monkeypatch.setattr(plan, "excluded", lambda _: Excluded(ranges={"orders": ()}))
    with pytest.raises(RecordsExcluded) as refused:
        plan_named_fork(past.pipeline, NEW)
    assert refused.value.increments == [3]
    past.arrive("later.csv")
    carry_out(past, refused.value.remedy, "run")


def test_files_that_a_person_rejected_are_left_out_by_a_fork(past: History) -> None:
    reject_increment(past.pipeline, 3, by="ada", reason="a test", run_id="reject")
    named_fork(past.run("fork"), NEW, **WHO)
    assert excluded(Snapshot(forked(past).layout)) == excluded(past.snapshot)
