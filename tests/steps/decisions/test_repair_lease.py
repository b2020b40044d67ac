"""A lease folder that was lost or set back to a backup: named, and fixed by one command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.remedies import carry_out
from tidemill.contract.report import Outcome, Report
from tidemill.publish.delta.commit import LEASE_TRANSACTION
from tidemill.steps.decisions.repair_lease import look_at_lease, repair_lease
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.lease import hold, newest_epoch


def lost(lease: Path) -> None:
    shutil.rmtree(lease)


def set_back(lease: Path) -> None:
    for path in lease.glob("[0-9]*"):
        if int(path.name.partition(".")[0]) > 2:
            path.unlink()


@pytest.fixture(params=["delta", "files"])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    """Three increments that went out, and one that passed."""
    history = History(tmp_path, more=f"publish: [{{kind: {request.param}}}]")
    for number in range(3):
        history.increment(rows(number))
        assert history.publish().outcome is Outcome.DONE
    history.increment(rows(3))
    return history


def look(history: History) -> Report:
    return perform("doctor", doctor, history.run("look"))


@pytest.mark.remedy("LeaseSetBack")
@pytest.mark.parametrize("harm", [lost, set_back])
def test_a_lease_that_was_lost_or_set_back_is_refused_by_name_and_mended(
    published: History, harm: Callable[[Path], None]
) -> None:
    lease = published.layout.lease
    fence = newest_epoch(lease)
    harm(lease)
    report = look(published)
    assert report.error is not None
    assert (report.outcome, report.error["code"]) == (Outcome.REFUSED, "LeaseSetBack")
    assert report.error["data"]["fence"] == fence
    assert report.error["remedy"] == f"tidemill lease repair {published.layout.name}"
    repaired = repair_lease(published.pipeline, look_at_lease(published.pipeline), "repair")
    assert (repaired.set_back, repaired.epoch) == (None, fence)
    assert look(published).error is None
    assert published.publish().outcome is Outcome.DONE
    assert newest_epoch(lease) == fence + 1


@pytest.mark.remedy("LeaseLost")
def test_a_publish_that_the_table_fences_out_names_the_command_where_there_is_no_newer_run(
    published: History,
) -> None:
    fence = newest_epoch(published.layout.lease)
    lost(published.layout.lease)
    report = published.publish()
    assert report.error is not None
    assert (report.error["code"], report.error["data"]["newer"]) == ("LeaseLost", fence)
    carry_out(published, report.error["remedy"], "lease repair")
    assert published.publish().outcome is Outcome.DONE


def test_the_lease_of_a_healthy_pipeline_is_as_new_as_all_that_was_written(
    published: History,
) -> None:
    found = look_at_lease(published.pipeline)
    assert (found.set_back, found.holder) == (None, None)
    assert max(fence.epoch for fence in found.fences) == found.epoch
    assert repair_lease(published.pipeline, found, "repair") == found


def test_a_verdict_that_would_count_before_every_later_one_is_a_fence_too(tmp_path: Path) -> None:
    history = History(tmp_path)
    first = history.increment(rows(1), outcome="held")
    history.increment(rows(2), outcome="held")
    with hold(history.layout.lease, step="gate", run_id="again") as held:
        history.judge(first, "held")
    lost(history.layout.lease)
    found = look_at_lease(history.pipeline)
    assert found.set_back is not None
    assert (Path(found.set_back.where).name, found.set_back.epoch) == ("increments", held.epoch)


def test_a_pipeline_that_never_published_has_no_fence(tmp_path: Path) -> None:
    history = History(tmp_path)
    assert look_at_lease(history.pipeline).fences == ()
    assert look(history).error is None


def test_whoever_writes_while_the_doctor_looks_is_not_taken_for_a_lease_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidemill.steps.decisions import repair_lease as step

    history = History(tmp_path)
    history.increment(rows(1))
    history.publish()
    fences_on_disk = step.fences_on_disk

    def look_then_publish(*arguments: object) -> object:
        history.increment(rows(2))
        history.publish()
        return fences_on_disk(history.layout)

    monkeypatch.setattr(step, "fences_on_disk", look_then_publish)
    assert look(history).error is None
    assert history.delta().transaction_version(LEASE_TRANSACTION) == newest_epoch(
        history.layout.lease
    )
