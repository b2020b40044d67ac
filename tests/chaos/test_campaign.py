"""A short crash campaign; `make chaos SEED=1 KILLS=1000` plays a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.aim import JVM, Aim
from tests.chaos.campaign_history import CampaignHistory
from tests.servers.postgres import Postgres

SEED = 1
KILLS = 30


@pytest.mark.usefixtures("with_faults", "child_jvm")
def test_thirty_kills_of_ten_pipelines_lose_and_double_nothing(tmp_path: Path) -> None:
    # A server of its own: the campaign may kill it.
    with Postgres() as postgres:
        home = tmp_path / "history"
        with CampaignHistory(home, SEED, print, postgres, kinds=("kill",)) as history:
            ended = history.play(rounds=1)
    assert ended.problems == []
    assert ended.kills >= KILLS
    hit = {blow.process.split(",")[0] for blow in ended.blows}
    assert hit == {"doctor", "ingest", "gate", "publish"}
    assert {blow.mode for blow in ended.blows} == {
        "append",
        "update",
        "complete",
        "window",
        "ordered",
    }
    seen = {"table", "version before", "rejected", "lists", "database"}
    assert set(ended.looks) == seen


# A seed whose first run has the kind, and in which steps.
@pytest.mark.usefixtures("with_faults", "child_jvm")
@pytest.mark.parametrize(
    ("kind", "seed", "faults", "steps"),
    [
        ("power", 103, {"power"}, {"ingest"}),
        ("hosts", 20, {"stop"}, {"ingest", "publish"}),
        ("clock", 15, {"clock"}, {"ingest", "publish"}),
    ],
    ids=["power", "hosts", "clock"],
)
def test_a_power_cut_a_host_that_pauses_and_a_wrong_clock_lose_and_double_nothing(
    tmp_path: Path, kind: str, seed: int, faults: set[str], steps: set[str]
) -> None:
    with CampaignHistory(tmp_path / "history", seed, print, kinds=(kind,)) as history:
        ended = history.play(rounds=1)
    assert ended.problems == []
    assert {blow.process for blow in ended.blows} == steps
    # The entry that planned the batch was not synced.
    assert (ended.repairs["TornLogEntry"] > 0) == (kind == "power")
    assert {blow.fault for blow in ended.blows} <= faults


def test_a_seed_chooses_the_same_faults_each_time(tmp_path: Path) -> None:
    def aims(home: Path, seed: int) -> list[Aim]:
        history = CampaignHistory(home, seed, print)
        return [
            history.choose_aim(step, time_, name)
            for step in ("ingest", "publish")
            for time_ in range(3)
            for name in history.names()
        ]

    first = aims(tmp_path / "first", 7)
    assert aims(tmp_path / "again", 7) == first
    assert aims(tmp_path / "other", 8) != first
    assert any(aim.program == JVM for aim in first)
