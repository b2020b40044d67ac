"""Real queries across changes of their code: what goes on, what is refused, what Spark would do.

The open groups are counted by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.table_reader import tree
from tidemill.compatibility.change import Verdict
from tidemill.compatibility.creation_snapshot import read_fingerprint
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome, Report
from tidemill.engine.run import start_checks
from tidemill.steps.read_only.plan import Planned, plan

COUNTS = """
from pyspark.sql import functions as F


def transform(events):
    return events{filter}.groupBy({key}).agg({aggregate}.alias("count"))
"""
SPEC: dict[str, Any] = {
    "event_time": {"column": "at"},
    "output": {"mode": "update", "keys": ["id"]},
}


def counts(filter: str = "", key: str = '"id"', aggregate: str = 'F.count("*")') -> str:
    return COUNTS.format(filter=filter, key=key, aggregate=aggregate)


def event(who: str, word: str, n: int = 1) -> dict[str, Any]:
    return {"id": who, "word": word, "n": n, "at": "2026-03-01T12:00:00Z"}


@pytest.fixture
def flow(tmp_path: Path, spark: object) -> JsonPipeline:
    sources = {"events": "id string, word string, n int, at timestamp"}
    made = JsonPipeline(tmp_path, sources, SPEC, counts())
    made.arrive("events", "1", [event("a", "b"), event("a", "c")])
    made.go("first")
    return made


def verdicts(planned: Planned) -> dict[str, Verdict]:
    return {change.field: change.verdict for change in planned.changes}


def refused(report: Report) -> dict[str, Any]:
    assert (report.outcome, report.error and report.error["code"]) == (
        Outcome.REFUSED,
        "QueryChanged",
    )
    assert report.error is not None
    data: dict[str, Any] = report.error["data"]
    return data


def test_a_filter_goes_on_and_another_key_is_refused_before_the_query_starts(
    flow: JsonPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_fingerprint(flow.layout, FIRST_GENERATION) is not None
    assert plan(flow.pipeline).changes == ()

    flow.write(counts(filter='.where("n > 0")'))
    assert verdicts(plan(flow.pipeline)) == {"transform.filter": Verdict.CONSEQUENCES}
    flow.arrive("events", "2", [event("a", "b", 0), event("a", "b"), event("b", "b")])
    flow.go("second")
    assert flow.published("id", "count") == [("a", 3), ("b", 1)]

    # With the same type and name: Spark finds nothing wrong with it.
    flow.write(counts(key='F.col("word").alias("id")'))
    planned = plan(flow.pipeline)
    assert verdicts(planned)["transform.Aggregate.keys"] is Verdict.NOT_ALLOWED
    flow.arrive("events", "3", [event("a", "b")])
    before = tree(flow.layout.checkpoint(FIRST_GENERATION)), tree(flow.layout.table)
    assert flow.step("doctor", "third").outcome is Outcome.DONE
    data = refused(flow.step("ingest", "third"))
    assert data["field"] == "transform.Aggregate.keys"
    assert "tidemill rebuild flow" in data["changes"][0]["remedy"]
    after = tree(flow.layout.checkpoint(FIRST_GENERATION)), tree(flow.layout.table)
    assert after == before, "a query that was refused left something"

    other = counts(key='F.col("word").alias("id")')
    flow.write(counts(aggregate='F.avg("n").cast("bigint")'))
    assert refused(flow.step("ingest", "fourth"))["field"] == "transform.Aggregate.aggregates"

    # Unasked, Spark refuses to read the one state as the other.
    monkeypatch.setattr(start_checks, "refuse_changed_plan", lambda *_: None)
    failed = flow.step("ingest", "unasked")
    assert failed.error is not None
    assert "SCHEMA_NOT_COMPATIBLE" in failed.error["data"]["condition"]
    # And the word `b` it counts on from what it knows of the user `b`.
    flow.write(other)
    flow.go("unasked again")
    assert flow.published("id", "count") == [("a", 3), ("b", 2)]
