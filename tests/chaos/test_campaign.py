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
        with CampaignHistory(home, SEED, print, postgres) as history:
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
