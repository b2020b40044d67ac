"""Where a pipeline stands is one small document, which its history gives again at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.doctor_report import look
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.opened_files import opened_files
from tidemill.contract.report import Outcome, Report
from tidemill.reporting.derive_status import with_report
from tidemill.reporting.standing import (
    PipelineStanding,
    by_attention,
    keep_up,
    read_standing,
)
from tidemill.spec.catalog import SpecFile
from tidemill.steps.upkeep.vacuum import KEPT, vacuum
from tidemill.storage.epochs import use_up
from tidemill.storage.lease import hold
from tidemill.storage.root_identity import verify_root


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path / "mill")
    verify_root(history.root)
    return history


def standing(history: History, now: datetime | None = None) -> PipelineStanding:
    return read_standing(
        history.root, SpecFile(history.project, history.project.spec(NAME), NAME), now
    )


@contextmanager
def writing(history: History) -> Iterator[None]:
    """Somebody holds the lease, as whoever writes does."""
    with hold(history.layout.lease, step="gate", run_id="somebody"):
        yield


def derived(history: History) -> dict[str, object]:
    """The standing from the history alone."""
    history.layout.status.unlink(missing_ok=True)
    return comparable(standing(history))


def comparable(found: PipelineStanding) -> dict[str, object]:
    return found.model_dump(exclude={"written"})


def test_a_pipeline_that_never_ran_leaves_no_file(history: History) -> None:
    found = standing(history)
    assert (found.state, found.published, found.sources) == ("never run", None, ())
    assert not history.layout.home.exists()


def test_what_is_published_and_rejected_is_counted_by_day(history: History) -> None:
    history.increment(rows(1, 2, 3), [reject("bad")])
    history.publish()

    found = standing(history)

    assert found.published is not None
    assert (found.published.increment, found.published.version) == (1, 0)
    assert (found.rows_of_days[-1], sum(found.rows_of_days)) == (3, 3)
    assert found.rejected_share == 0.25
    assert (found.state, found.waiting, found.decisions) == ("fine", "", ())


def test_days_without_rows_are_shown_too(history: History) -> None:
    history.increment(rows(1, 2))
    history.publish()

    later = standing(history, datetime.now(UTC) + timedelta(days=3)).rows_of_days
    much_later = standing(history, datetime.now(UTC) + timedelta(days=30)).rows_of_days

    assert (len(later), later[-4:]) == (14, (2, 0, 0, 0))
    assert much_later == (0,) * 14


def test_a_held_increment_is_to_be_decided_with_what_waits_behind_it(history: History) -> None:
    history.increment(rows(1), outcome="held")
    history.increment(rows(2))
    history.increment(rows(3))

    found = standing(history)

    (held,) = found.held
    assert (found.state, held.increment, held.reasons, held.behind_it) == ("held", 1, ("bad",), 2)
    assert len(found.decisions) == 1
    assert found.unpublished == 3


def test_the_steps_keep_the_document_as_the_history_gives_it(history: History) -> None:
    for number in range(3):
        look(history, f"run-{number}")
        history.increment(rows(number), [reject("bad")], "held" if number == 2 else "passed")
        with writing(history):
            pass
        history.publish(f"run-{number}")

        kept = comparable(standing(history))

        with opened_files(history.root) as opened:
            assert comparable(standing(history)) == kept
        assert opened == [history.layout.status]
        assert derived(history) == kept


def test_a_decision_at_a_shell_is_seen_though_no_step_wrote_the_document(
    history: History,
) -> None:
    history.increment(rows(1), outcome="held")
    look(history)
    assert standing(history).state == "held"

    with writing(history):
        history.release(1)

    assert standing(history).state == "waiting"
    with opened_files(history.root) as opened:
        assert standing(history).state == "waiting"
    assert opened == [history.layout.status]


def test_whoever_writes_makes_it_running_and_no_history_is_read_meanwhile(
    history: History,
) -> None:
    history.increment(rows(1))
    history.publish()
    with writing(history):
        with opened_files(history.layout.increments) as opened:
            found = standing(history)
        assert (found.state, opened) == ("running", [])
        assert found.writer is not None
        assert (found.writer.step, found.writer.gone) == ("gate", False)
    assert standing(history).state == "fine"


def test_what_the_doctor_saw_waits_until_it_is_taken_in(history: History) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    history.increment(rows(1))
    history.publish()
    history.arrive("new.csv", "id,at\n3,\n", at=noon)
    history.arrive("newer.csv", "id,at\n3,\n", at=noon + timedelta(hours=1))
    report = look(history, "second")

    (source,) = standing(history).sources

    assert (source.new, source.unit, source.oldest) == (2, "files", noon)
    assert source.bytes == report.facts["backlog_bytes"]
    assert standing(history).state == "waiting"
    keep_up(history.pipeline, ingested(report))
    (source,) = standing(history).sources
    assert (source.new, source.bytes, source.oldest) == (0, 0, None)


def ingested(doctor: Report) -> Report:
    """The report of an ingest that took in all that there was."""
    facts = {"left": {}, "batches": [1]}
    return doctor.model_copy(update={"step": "ingest", "facts": facts, "outcome": Outcome.DONE})


def test_a_feed_becomes_overdue_though_no_run_looks(tmp_path: Path) -> None:
    history = History(tmp_path / "mill", more="expect: {every: 1 day, grace: 6h}")
    verify_root(history.root)
    history.increment(rows(1))
    history.publish()
    look(history)
    now = datetime.now(UTC)

    assert standing(history, now + timedelta(hours=29)).state == "fine"
    assert standing(history, now + timedelta(hours=31)).state == "overdue"


def test_what_a_run_took_in_has_arrived_whatever_its_date(tmp_path: Path) -> None:
    history = History(tmp_path / "mill", more="expect: {every: 1 day}")
    verify_root(history.root)
    history.arrive("old.csv", "id,at\n3,\n", at=datetime(2020, 1, 1, tzinfo=UTC))
    report = look(history)
    before = with_report(standing(history), report)
    assert before.expected_by is not None
    assert with_report(before, ingested(report)).expected_by == report.finished + timedelta(days=1)


def test_a_refusal_says_what_to_do(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    (history.inputs / "f0000.csv").write_text("id,at\n9,\n10,\n")
    report = look(history)
    assert report.error is not None

    found = standing(history)

    assert (found.state, found.last_run and found.last_run.code) == (
        "refused",
        report.error["code"],
    )
    assert report.error["remedy"] in found.decisions[0]


def test_damage_and_a_spec_that_does_not_load_are_said_and_not_raised(history: History) -> None:
    history.batch(rows(1))
    history.seal()
    sealed = history.layout.increments / "000001" / "sealed.json"
    content = sealed.read_text()
    sealed.write_text("{")
    found = standing(history)
    assert (found.state, found.error and found.error["code"]) == ("refused", "TornDocument")

    sealed.write_text(content)
    assert standing(history).state == "waiting"

    spec = history.project.spec(NAME).read_text()
    for broken in ("sources: 3", spec.replace("format: csv", "format: ${UNSET_HERE}")):
        history.project.spec(NAME).write_text(broken)
        history.layout.status.unlink(missing_ok=True)
        found = standing(history)
        assert (found.state, found.error and found.error["code"]) == ("refused", "SpecError")
    history.project.spec(NAME).write_text(spec)
    assert (standing(history).state, standing(history).about.targets) == ("waiting", ("delta",))


def test_a_damaged_document_is_computed_again(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    kept = comparable(standing(history))
    history.layout.status.write_text("{")

    assert comparable(standing(history)) == kept
    assert history.layout.status.read_text() != "{"


def test_a_document_whose_epoch_was_removed_is_computed_again(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    old = history.layout.status.read_bytes()
    history.increment(rows(2))
    history.publish()
    use_up(history.layout.lease, 2 * KEPT, "many runs")
    vacuum(history.run())
    history.layout.status.write_bytes(old)
    found = standing(history)
    assert found.published is not None
    assert found.published.increment == 2
    assert comparable(found) == derived(history)


def test_a_change_of_the_spec_is_seen_before_the_next_run(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.write_spec(more="airflow: {owner: bea, tags: [shop]}\ngroup: all_of_it")

    about = standing(history).about

    assert (about.owner, about.tags, about.dag_id) == ("bea", ("shop",), "all_of_it")


def test_what_needs_a_person_comes_first(history: History) -> None:
    fine = standing(history)
    found = [
        fine.model_copy(update={"pipeline": name, "state": state})
        for name, state in [("a", "fine"), ("b", "held"), ("c", "never run"), ("d", "refused")]
    ]
    assert [one.pipeline for one in by_attention(found)] == ["d", "b", "c", "a"]
