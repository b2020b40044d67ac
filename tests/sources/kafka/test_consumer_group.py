"""What is published of a topic is committed to a consumer group, for monitors of the lag."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.servers.kafka import Broker
from tests.servers.ports import free_ports
from tests.support.batches import batch_of
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.processes import wait_for
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Applied, Event, Journal, Withdrawal
from tidemill.ledger.run_kinds import EventKind
from tidemill.sources.kafka.consumer_group import commit_published
from tidemill.storage import documents
from tidemill.storage.run_context import RunContext

NOW = datetime.now(UTC)


class Published:
    """A pipeline on a topic of two partitions, of which batch n reads up to 10 (n + 1) and 5."""

    def __init__(self, home: Path, broker: Broker, **given: object) -> None:
        self.group = f"mill-{uuid.uuid4().hex[:8]}"
        self.broker = broker
        source = {"commit_to_group": self.group}
        self.mill = KafkaPipeline(home, broker, source=source, **given)  # type: ignore[arg-type]
        self.journal = Journal(self.mill.layout.journal)
        self.said: list[str] = []

    def batch(self, number: int, generation: str = FIRST_GENERATION) -> None:
        offsets = {self.mill.topic: {"0": 10 * (number + 1), "1": 5}}
        folder = self.mill.layout.ledger(generation)
        batch = batch_of(number, generation=generation, offsets={"orders": offsets}, committed=NOW)
        documents.put_if_absent(folder / f"{number:06d}.json", batch)

    def event(
        self,
        seq: int,
        last: int,
        kind: EventKind = "increment",
        *,
        generation: str = FIRST_GENERATION,
        applied: bool = True,
    ) -> None:
        self.journal.append(
            Event(
                seq=seq,
                kind=kind,
                increment=seq,
                generation=generation,
                first=last,
                last=last,
                rows=0,
                rejected=0,
                files_hash="",
                verdict={},
                release=None,
                run_id="r",
                at=NOW,
            )
        )
        if applied:
            self.journal.record(Applied(seq=seq, target="delta", version=seq, run_id="r", at=NOW))

    def committed(self) -> dict[int, int]:
        """What a monitor sees after a publish."""
        run = RunContext(self.mill.pipeline, "r", self.said.append)
        with run.hold("publish") as held:
            commit_published(held, Snapshot(held.layout), self.mill.environ)
        return self.broker.committed(self.group, self.mill.topic)


@pytest.fixture
def feed(tmp_path: Path, broker: Broker) -> Published:
    return Published(tmp_path, broker)


def test_the_offsets_of_what_consumers_see_are_committed(feed: Published) -> None:
    assert feed.committed() == {}
    for number in range(3):
        feed.batch(number)
    feed.event(1, last=0)
    assert feed.committed() == {0: 10, 1: 5}
    # What is in the journal and not in the table yet is not published.
    feed.event(2, last=1, applied=False)
    assert feed.committed() == {0: 10, 1: 5}
    feed.journal.record(Applied(seq=2, target="delta", version=2, run_id="r", at=NOW))
    assert feed.committed() == {0: 20, 1: 5}
    feed.event(3, last=2, kind="reject")
    assert feed.committed() == {0: 30, 1: 5}
    assert feed.said == []


def test_a_backfill_and_a_withdrawn_increment_move_no_offset(feed: Published) -> None:
    for number in range(3):
        feed.batch(number)
    feed.event(1, last=1)
    feed.event(2, last=0, kind="swap")
    assert feed.committed() == {0: 20, 1: 5}
    feed.event(3, last=2, applied=False)
    feed.journal.withdraw(Withdrawal(seq=3, reason="late", run_id="r", epoch=1, at=NOW))
    assert feed.committed() == {0: 20, 1: 5}


def test_a_rebuild_commits_the_offsets_of_its_own_last_batch(feed: Published) -> None:
    feed.batch(0)
    feed.event(1, last=0)
    feed.batch(4, generation="live-0002")
    feed.event(2, last=4, kind="replace", generation="live-0002")
    assert feed.committed() == {0: 50, 1: 5}


def test_a_group_that_has_consumers_is_left_alone_and_that_is_said(feed: Published) -> None:
    feed.batch(0)
    feed.event(1, last=0)
    consumer = Consumer({"bootstrap.servers": feed.broker.bootstrap, "group.id": feed.group})
    consumer.subscribe([feed.mill.topic])
    try:
        wait_for(lambda: bool(consumer.poll(0.1)) or bool(consumer.assignment()))
        assert feed.committed() == {}
    finally:
        consumer.close()
    (line,) = feed.said
    assert feed.group in line
    assert "refuses" in line
    assert feed.committed() == {0: 10, 1: 5}


def test_a_broker_that_does_not_answer_is_said_and_publish_goes_on(
    tmp_path: Path, broker: Broker
) -> None:
    (port,) = free_ports(1)
    feed = Published(tmp_path, broker, connection={"bootstrap.servers": f"127.0.0.1:{port}"})
    feed.batch(0)
    feed.event(1, last=0)
    assert feed.committed() == {}
    (line,) = feed.said
    assert f"127.0.0.1:{port}" in line
