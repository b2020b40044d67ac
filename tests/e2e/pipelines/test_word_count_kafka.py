"""The shipped pipeline `word_count_kafka`: the last count of each word is that of all lines."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Message

from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.support.pipelines.pipeline_folder import STEPS
from tidemill.contract.report import Outcome
from tidemill.main import step_function
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

COUNTS = "word_counts"
LINES = [
    ["The tide comes in,", "the tide goes out.", "Straße, straße: Ünïcode & 42"],
    ["the mill grinds what the tide brought", "  ", "42"],
]


def pipeline(root: Path, topic: str) -> Pipeline:
    own = {"TIDEMILL_ROOT": str(root), "TIDEMILL_LINES": topic}
    return open_pipeline("word_count_kafka", {**os.environ, **own})


def key_of(record: Message) -> str:
    return (record.key() or b"").decode()


def words(lines: list[str]) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", " ".join(lines).lower()))


def test_the_last_record_of_each_word_is_its_count(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", json.dumps(kafka))
    topic = f"lines-{uuid.uuid4().hex[:12]}"
    broker.create_topic(topic, 2)
    broker.create_topic(COUNTS, 1)
    said: list[str] = []
    for number, lines in enumerate(LINES):
        broker.produce(topic, [Record(key=None, value=line) for line in lines])
        said += lines
        for step in STEPS:
            run = RunContext(pipeline(tmp_path, topic), f"run-{number}", lambda _: None)
            assert perform(step, step_function(step), run).outcome is Outcome.DONE

        table = {key_of(one): json.loads(one.value() or b"") for one in broker.records(COUNTS)}
        assert table == {word: {"count": count} for word, count in words(said).items()}

    # The second run sent only what it changed.
    sent = Counter(key_of(record) for record in broker.records(COUNTS))
    assert {word for word, times in sent.items() if times == 2} == {"the", "tide", "42"}
