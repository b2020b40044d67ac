"""`tidemill lease`: who writes, and the repair of a lease that was lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import NAME, History, rows
from tidemill.storage.lease import hold, newest_epoch


@pytest.fixture
def published(history: History) -> History:
    for number in range(3):
        history.increment(rows(number))
        history.publish()
    return history


def test_it_shows_who_holds_the_lease(published: History, tidemill: Tidemill) -> None:
    idle = tidemill("lease", "show", NAME, "--json").json
    assert (idle["holder"], idle["alive"], idle["set_back"]) == (None, None, False)
    fenced = {Path(fence["where"]).name for fence in idle["fences"]}
    assert fenced >= {"table", "rejected", "journal"}
    with hold(published.layout.lease, step="publish", run_id="r") as held:
        busy = tidemill("lease", "show", NAME, "--json").json
        assert (busy["epoch"], busy["holder"]["run_id"], busy["alive"]) == (held.epoch, "r", True)
        assert "publish of run r" in tidemill("lease", "show", NAME).stdout


def test_it_says_first_what_it_will_do_and_does_it_when_told(
    published: History, tidemill: Tidemill
) -> None:
    lease = published.layout.lease
    fence = newest_epoch(lease)
    shutil.rmtree(lease)
    (step,) = tidemill("lease", "repair", NAME, "--dry-run", "--json").json["plan"]
    assert f"up to {fence}" in step
    assert newest_epoch(lease) == 0
    assert tidemill("lease", "repair", NAME, "--yes").exit_code == 0
    assert newest_epoch(lease) == fence


def test_its_repair_is_said_as_one_document(published: History, tidemill: Tidemill) -> None:
    fence = newest_epoch(published.layout.lease)
    shutil.rmtree(published.layout.lease)
    assert tidemill("lease", "show", NAME, "--json").json["set_back"]
    for repaired in (True, False):
        answer = tidemill("lease", "repair", NAME, "--yes", "--json")
        found = answer.json
        assert (answer.exit_code, found["repaired"], found["set_back"]) == (0, repaired, False)
        assert found["epoch"] == fence
