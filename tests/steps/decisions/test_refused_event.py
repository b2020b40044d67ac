"""An event that the head target refuses for good: people decide about it as if it were held."""

from __future__ import annotations

from datetime import date

import pytest

from tests.support.histories.generation_builder import days, made_again, rebuilt
from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.build import begin_build
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.increments import State
from tidemill.journal.journal import event_file
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.ledger.run_request import RunRequest
from tidemill.publish.delta.table_schema import SchemaChanged
from tidemill.publish.delta.target import DeltaTarget
from tidemill.reporting.incident import read_incident
from tidemill.reporting.pipeline_status import read_status
from tidemill.spec.spec import Gate
from tidemill.steps.decisions.check_request import asked
from tidemill.steps.decisions.fork import fork_generation
from tidemill.steps.decisions.reject import NotRejected, rejected_batches
from tidemill.steps.decisions.reject import reject as reject_increment
from tidemill.steps.decisions.release import NotHeld, release
from tidemill.steps.decisions.withdraw import NotWithdrawable
from tidemill.storage import documents

REDO = RunRequest(role="redo", by="ada", reason="the columns were wrong")
SECOND = date(2024, 1, 2)


def publish_refused(history: History) -> str:
    """A publish of which the table takes nothing; what it says to do."""

    def refuse(*_: object) -> None:
        raise SchemaChanged("No.", remedy="Mend it.", changes=[])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeltaTarget, "_commit", refuse)
        report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    return str(report.error["remedy"])


@pytest.fixture
def refused(history: History) -> History:
    """A published increment, one that the table refuses, and one behind it."""
    history.increment([row(1), row(9, SECOND)])
    history.publish()
    history.increment(rows(2), [reject("a")])
    history.increment(rows(3), [reject("b")])
    publish_refused(history)
    return history


def reject_second(history: History) -> None:
    reject_increment(history.pipeline, 2, by="ada", reason="unreadable", run_id="decision")


def may_be_redone(history: History) -> bool:
    ended = asked(history.run("redo"), REDO, open_generation(history.pipeline))
    return ended.outcome is Outcome.DONE


def test_the_refusal_names_the_commands_that_go_on_without_it(history: History) -> None:
    history.increment(rows(1))
    said = publish_refused(history)
    assert "tidemill redo orders" in said
    assert "tidemill reject orders 1" in said


def test_status_tells_which_event_of_the_journal_waits(refused: History) -> None:
    found = read_status(refused.layout, ["delta"]).increments
    assert [(one.state, one.version, one.event) for one in found] == [
        ("published", 0, 1),
        ("passed", None, 2),
        ("passed", None, 3),
    ]


def test_rejected_it_is_passed_over_and_what_stood_behind_it_goes_out(refused: History) -> None:
    reject_second(refused)
    assert refused.publish("decision").outcome is Outcome.DONE
    assert (refused.ids(), refused.records()) == ([1, 3, 9], ["b"])
    assert [event.increment for event in refused.journal.events()] == [1, 2, 3]


def test_a_redo_of_it_is_not_refused_and_a_release_is(refused: History) -> None:
    assert may_be_redone(refused)
    with pytest.raises(NotHeld):
        release(refused.pipeline, 2, by="ada", reason="why not", run_id="decision")


def test_a_fork_goes_on_before_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("windowed") / "pipeline"
    history = History(home, pipeline_class=PipelineClass.WINDOW)
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.increment(rows(1))
    publish_refused(history)
    with history.run("redo").hold("ingest") as held:
        takeover = fork_generation(held, REDO)
    assert (takeover.first, takeover.supersedes) == (0, (1,))
    assert history.journal.events() == []


def test_what_the_table_has_though_nobody_wrote_it_down_is_not_rejected(refused: History) -> None:
    refused.publish()
    for written in refused.layout.journal.glob("00000[23].delta.json"):
        written.unlink()
    with pytest.raises(NotWithdrawable):
        reject_second(refused)
    assert refused.snapshot.get(2).state is State.PASSED


def test_an_increment_that_no_gate_can_judge_can_be_rejected_and_redone(history: History) -> None:
    history.batch(rows(1))
    history.seal()
    history.increment(rows(2))
    assert may_be_redone(history)
    reject_increment(history.pipeline, 1, by="ada", reason="year 12026", run_id="decision")
    assert history.publish("decision").outcome is Outcome.DONE
    assert history.ids() == [2]


def test_a_rebuild_takes_its_place_in_the_same_publish(refused: History) -> None:
    swap = made_again(refused, [row(20, SECOND)], partitions=days("2024-01-02"))
    assert publish_refused(refused)
    to_be_rebuilt(refused)
    assert refused.publish("rebuild").outcome is Outcome.DONE
    assert refused.ids() == [1, 2, 30]
    left = [(event.kind, event.increment) for event in refused.journal.events()]
    assert left == [("increment", 1), ("replace", swap + 1)]
    assert refused.publish("next").outcome is Outcome.DONE
    assert refused.ids() == [1, 2, 30]


def to_be_rebuilt(history: History) -> None:
    """A rebuild that was judged, and is neither live nor in the journal."""
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.touch()
    begin_build(history.pipeline, "rebuild", "rebuild")
    event = rebuilt(history, [row(1), row(2)], [row(30)])
    event_file(history.layout.journal, event.seq).unlink()
    for _, takeover in documents.numbered(history.layout.generations):
        takeover.unlink()


def test_a_swap_that_was_computed_with_it_does_not_go_out_once_it_was_withdrawn(
    refused: History,
) -> None:
    swap = made_again(refused, [row(20, SECOND), row(2)], partitions=days("2024-01-01"))
    reject_second(refused)
    # Its run computes it again; any other leaves it alone.
    assert refused.publish("decision").outcome is Outcome.DONE
    assert refused.ids() == [1, 3, 9]
    (found,) = [one for one in read_status(refused.layout).increments if one.increment == swap]
    assert found.lost_race is not None


def test_a_swap_that_is_refused_is_taken_out_of_the_journal(history: History) -> None:
    history.increment([row(1)])
    history.publish()
    swap = made_again(history, [row(20)], partitions=days("2024-01-01"))
    said = publish_refused(history)
    assert f"tidemill reject orders {swap}" in said
    reject_increment(history.pipeline, swap, by="ada", reason="bad", run_id="decision")
    assert history.publish("decision").outcome is Outcome.DONE
    assert (history.ids(), [event.increment for event in history.journal.events()]) == ([1], [1])
    assert history.publish("again").outcome is Outcome.DONE


@pytest.mark.parametrize("kind", ["backfill", "reinstate", "rebuild"])
def test_a_held_swap_is_dropped_and_its_input_still_counts(
    history: History, kind: RecomputationKind
) -> None:
    history.increment([row(1)])
    history.publish()
    partitions = {"backfill": days("2024-01-01"), "rebuild": Partitions()}.get(kind)
    swap = made_again(history, [row(20)], kind=kind, partitions=partitions)
    history.judge(swap, "held")
    found = read_incident(history.layout, swap, Gate())
    assert [one.action for one in found.choices] == ["release", "reject"]

    reject_increment(history.pipeline, swap, by="ada", reason="bad", run_id="decision")

    assert history.publish("decision").outcome is Outcome.DONE
    assert history.publish("next").outcome is Outcome.DONE
    assert (history.ids(), bool(excluded(history.snapshot))) == ([1], False)
    with pytest.raises(NotHeld):
        release(history.pipeline, swap, by="ada", reason="no", run_id="other")
    with pytest.raises(NotRejected):
        rejected_batches(history.snapshot, swap)
    made_again(history, [row(30)], partitions=days("2024-01-01"), run_id="better")
    history.publish("better")
    assert history.ids() == [30]
