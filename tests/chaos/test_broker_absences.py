"""The Kafka broker goes in the steps of a pipeline that reads it, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.broker_absences import BROKER, KILLED, PAUSED, STOPPED
from tests.chaos.campaign_history import CampaignHistory
from tests.servers.kafka import Broker

# A seed whose first run meets all ways to be away.
SEED = 7


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """One that the test may stop."""
    with Broker() as broker:
        yield broker


@pytest.mark.usefixtures("with_faults", "child_jvm")
def test_a_broker_that_goes_in_any_step_costs_no_record_and_doubles_none(
    tmp_path: Path, own_broker: Broker
) -> None:
    home = tmp_path / "history"
    with CampaignHistory(home, SEED, print, kinds=(BROKER,), broker=own_broker) as history:
        ended = history.play(rounds=1)
    assert ended.problems == []
    assert {blow.fault for blow in ended.blows} == {STOPPED, KILLED, PAUSED}
    assert {blow.process for blow in ended.blows} == {"doctor", "ingest", "publish"}
    assert {blow.pipeline for blow in ended.blows} == {"append_b"}
