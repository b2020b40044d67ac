"""A person's rows leave pipelines with state whose input is a topic, or a Python source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.e2e.test_erase_state import INTERRUPTED, PERSON, WHY, fill_and_die, holding, told
from tests.servers.kafka import Broker
from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.pipelines.matrix_pipeline import WORDS
from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tidemill.cli.app import app
from tidemill.contract.report import Outcome

WHERE = ("--where", f"id = '{PERSON}'")
REFUSED = 4
BOB = "bob@example.org"
TOTALS = """
from pyspark.sql import functions as F


def transform(orders):
    return orders.groupBy("id").agg(F.sum("quantity").alias("total"))
"""
WORD_COUNTS = """
def transform(words):
    return words.groupBy("word").count()
"""


def order(customer: str, quantity: int) -> str:
    return json.dumps({"id": customer, "quantity": quantity, "at": "2026-03-01T12:00:00Z"})


@pytest.fixture
def mill(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> KafkaPipeline:
    """Totals over a topic of one partition, in two runs."""
    mill = totals_of(KafkaPipeline(tmp_path, broker, partitions=1, transform=TOTALS), monkeypatch)
    for number, orders in enumerate(([(PERSON, 1), (BOB, 2)], [(PERSON, 4), (BOB, 8)])):
        take_in(mill, f"day-{number}", *orders)
    assert totals(mill) == {PERSON: 5, BOB: 10}
    return mill


def totals_of(mill: KafkaPipeline, monkeypatch: pytest.MonkeyPatch) -> KafkaPipeline:
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", mill.environ["AIRFLOW_CONN_TIDEMILL_KAFKA"])
    mill.write_spec({**mill.spec, "output": {"mode": "complete"}})
    mill.suite.write_text(json.dumps({"name": mill.name, **SUITE}))
    return mill


def take_in(mill: KafkaPipeline, run_id: str, *orders: tuple[str, int]) -> None:
    mill.produce([order(*one) for one in orders])
    last = [*mill.run(run_id).values()][-1]
    assert last.outcome is Outcome.DONE, last.error


def totals(mill: KafkaPipeline) -> dict[str, int]:
    return {row["id"]: row["total"] for row in mill.rows()}


def test_totals_of_a_topic_lose_the_person_and_go_on(
    mill: KafkaPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tidemill.steps.decisions.rebuild.fill_generation", fill_and_die)
        told(mill, "erase", mill.name, *WHERE, *WHY, code=INTERRUPTED)
    assert totals(mill) == {PERSON: 5, BOB: 10}
    done = told(mill, "erase", mill.name, *WHERE, *WHY)
    # The records stay where they are.
    assert (done["sources"], done["origins"]) == (["orders"], ["orders"])
    assert (totals(mill), holding(mill.layout.home)) == ({BOB: 10}, [])
    take_in(mill, "later", (PERSON, 16), (BOB, 32))
    assert (totals(mill), holding(mill.layout.home)) == ({BOB: 42}, [])


def test_records_that_retention_has_taken_are_lost_only_as_a_person_accepts(
    mill: KafkaPipeline,
) -> None:
    mill.broker.delete_records(mill.topic, 0, 2)
    refused = refusal(mill, "erase", mill.name, *WHERE, *WHY)
    assert (refused["code"], f"{mill.topic}/0" in refused["what"]) == ("NotErasable", True)
    assert not (mill.layout.home / "erasures").exists()
    assert totals(mill) == {PERSON: 5, BOB: 10}
    told(mill, "erase", mill.name, *WHERE, *WHY, "--accept-loss")
    assert (totals(mill), holding(mill.layout.home)) == ({BOB: 8}, [])


def test_a_compacted_topic_is_read_again_only_as_a_person_accepts(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic: dict[str, Any] = {"cleanup.policy": "compact", "source": {"compacted": "warn"}}
    mill = KafkaPipeline(tmp_path, broker, partitions=1, transform=TOTALS, **topic)
    take_in(totals_of(mill, monkeypatch), "first", (PERSON, 1), (BOB, 2))
    erasing = ("erase", mill.name, *WHERE)
    assert "compacted of orders" in refusal(mill, *erasing)["what"]
    (lost,) = told(mill, *erasing, "--accept-loss")["lost"]
    assert "compacted of orders" in lost


def test_a_topic_that_was_made_again_is_refused(mill: KafkaPipeline) -> None:
    mill.broker.delete_topic(mill.topic)
    mill.broker.create_topic(mill.topic, 1)
    mill.produce([order(BOB, 1)])
    accepting = ("erase", mill.name, *WHERE, *WHY, "--accept-loss")
    assert refusal(mill, *accepting)["code"] == "TopicRecreated"
    assert totals(mill) == {PERSON: 5, BOB: 10}


def test_a_python_source_is_read_again_only_as_a_person_accepts(
    tmp_path: Path, spark: object
) -> None:
    word, *others = dict.fromkeys(WORDS)
    words = {
        "kind": "python",
        "data_source": "tests.support.pipelines.words_source:WordsSource",
        "schema": "word string",
    }
    spec = {"sources": {"words": words}, "output": {"mode": "complete"}}
    flow = JsonPipeline(tmp_path, {}, spec, WORD_COUNTS)
    flow.go("first")
    erasing = ("erase", flow.name, "--where", f"word = '{word}'", *WHY)
    refused = refusal(flow, *erasing)
    assert (refused["code"], "sources.words" in refused["what"]) == ("NotErasable", True)
    told(flow, *erasing, "--accept-loss")
    assert flow.published("word") == [(other,) for other in sorted(others)]
    assert holding(flow.layout.home, word) == []


def refusal(flow: RunnablePipeline, *words: str) -> dict[str, Any]:
    """What a command says that is refused."""
    answer = CliRunner().invoke(app, [*words, "--json"], env=flow.environ, catch_exceptions=False)
    assert answer.exit_code == REFUSED, answer.output
    return json.loads(answer.stdout)
