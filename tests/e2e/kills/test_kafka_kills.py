"""The whole process group is killed where Spark's protocol is weakest, with records of Kafka.

The point is K7 of the failure-modes notes: after the sink's log and before the checkpoint's commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kills.test_kills import batches
from tests.servers.kafka import Broker
from tests.support.kills.kill_at_point import kill_at
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tidemill.contract.report import Outcome


def test_a_kill_between_sink_log_and_commit_publishes_each_record_once(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = KafkaPipeline(tmp_path, broker, source={"maxOffsetsPerTrigger": 10})
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_KAFKA", mill.environ["AIRFLOW_CONN_TIDEMILL_KAFKA"])
    mill.produce_orders(0, 100)
    mill.produce(["malformed"])
    log, commits = mill.sink / "_spark_metadata", mill.checkpoint / "commits"

    def logged_and_not_committed() -> bool:
        return log.is_dir() and len(batches(log)) > len(batches(commits))

    kill_at(
        mill.start("ingest", "killed"),
        mill.checkpoint / "offsets" / "0",
        logged_and_not_committed,
    )
    batch = max(batches(log))
    assert batch in batches(mill.checkpoint / "offsets")
    assert batch not in batches(commits)

    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders(100)
    assert [row["record"] for row in mill.rejected_rows()] == ["malformed"]
