"""Listeners of a user's own, and metrics over the result: from the spec to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.report import Outcome
from tidemill.engine.query.build import plan
from tidemill.engine.query.metrics import MetricRefused
from tidemill.engine.session import open_session

COLUMNS = {"orders": "id int, price decimal(8,2), at timestamp"}
TRANSFORM = "def transform(orders):\n    return orders.where('price > 0')\n"
LISTENER = """
from pathlib import Path

from pyspark.sql.streaming import StreamingQueryListener

HEARD = Path({heard!r})


class Notes(StreamingQueryListener):
    def onQueryStarted(self, event):
        self.note("started", event.name)

    def onQueryProgress(self, event):
        self.note("progress", event.progress.numInputRows)

    def onQueryTerminated(self, event):
        self.note("terminated", event.exception)

    def note(self, *what):
        with HEARD.open("a") as file:
            print(*what, file=file)


class Deaf(Notes):
    def note(self, *what):
        raise OSError("no room")
"""
METRICS = {
    "revenue": "sum(price)",
    "share_large": "avg(CAST(price > 5 AS int))",
    "latest": "max(at)",
}


def orders(number: int, price: str) -> dict[str, Any]:
    return {"id": number, "price": price, "at": "2026-03-01T12:00:00Z"}


def test_a_batch_is_measured_and_listened_to(tmp_path: Path, spark: Any) -> None:
    heard = tmp_path / "heard"
    listeners = ["notes:Notes", "notes:Deaf"]
    spec = {"observe": METRICS, "listeners": listeners, "row_rules": {"whole": "id IS NOT NULL"}}
    flow = JsonPipeline(tmp_path, COLUMNS, spec, TRANSFORM)
    folder = tmp_path / "project" / "spark_jobs" / "listeners"
    folder.mkdir()
    (folder / "notes.py").write_text(LISTENER.format(heard=str(heard)))
    flow.arrive("orders", "a", [orders(1, "2.50"), orders(2, "7.50"), orders(3, "-1.00")])
    flow.arrive("orders", "b", [orders(4, "-2.00"), {"price": "9.00"}])
    facts = flow.run("first")["ingest"].facts
    assert facts["rejected"] == 1
    assert facts["observed"] == {
        "0": {"revenue": 10.0, "share_large": 0.5, "latest": "2026-03-01 12:00:00"},
        "1": {"revenue": None, "share_large": None, "latest": None},
    }
    lines = heard.read_text().splitlines()
    assert lines[0] == "started flow"
    assert lines[-1] == "terminated None"
    assert [line.split()[0] for line in lines[1:-1]] == ["progress", "progress"]
    # It goes with the query.
    other = (
        spark.readStream.name("ticks")
        .format("rate")
        .load()
        .writeStream.format("noop")
        .queryName("other")
    )
    query = other.trigger(once=True).start()
    query.awaitTermination()
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    assert heard.read_text().splitlines() == lines


def test_a_listener_that_is_none_is_refused_before_the_query(tmp_path: Path, spark: object) -> None:
    flow = JsonPipeline(tmp_path, COLUMNS, {"listeners": ["pathlib:Path"]}, TRANSFORM)
    flow.arrive("orders", "a", [orders(1, "2.50")])
    failed = flow.run("first")["ingest"]
    assert failed.outcome is Outcome.FAILED
    assert failed.error is not None
    assert failed.error["code"] == "ListenerUnusable"
    assert flow.batches == []


@pytest.mark.parametrize("metric", ["price", "sum(prise)", "sum(price", "nothing()"])
def test_a_metric_that_is_no_aggregate_is_refused_by_its_name(
    tmp_path: Path, spark: Any, metric: str
) -> None:
    flow = JsonPipeline(
        tmp_path, COLUMNS, {"observe": {"good": "count(*)", "bad": metric}}, TRANSFORM
    )
    session = open_session(flow.pipeline, "test")
    with pytest.raises(MetricRefused) as refused:
        plan(session, flow.pipeline)
    assert refused.value.field == "observe.bad"
