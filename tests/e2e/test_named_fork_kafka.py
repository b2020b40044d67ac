"""A fork of a pipeline that reads Kafka goes on from the original's offsets, and moves none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.servers.kafka import Broker
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.table_reader import tree
from tidemill.cli.app import app
from tidemill.contract.report import Outcome


class Trial(KafkaPipeline):
    name = "trial"

    def __init__(self, original: KafkaPipeline) -> None:
        vars(self).update(vars(original))


def orders(first: int, last: int) -> Counter[str]:
    return Counter(f"o{number}" for number in range(first, last))


def test_a_fork_reads_the_records_after_those_that_the_original_published(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = KafkaPipeline(tmp_path, broker, source={"maxOffsetsPerTrigger": 4})
    for name in ("AIRFLOW_CONN_TIDEMILL_KAFKA", "TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(name, mill.environ[name])
    mill.produce_orders(0, 7)
    assert mill.run("first")["publish"].outcome is Outcome.DONE
    before = tree(mill.layout.checkpoint("live-0001"))
    words = ["checkpoint", "fork", mill.name, "--as", "trial", "--reason", "new code", "--apply"]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output

    mill.produce_orders(7, 5)
    trial = Trial(mill)
    assert trial.run("trial")["publish"].outcome is Outcome.DONE
    assert trial.ids() == orders(7, 12)
    assert (mill.ids(), tree(mill.layout.checkpoint("live-0001"))) == (orders(0, 7), before)
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    assert mill.ids() == orders(0, 12)
