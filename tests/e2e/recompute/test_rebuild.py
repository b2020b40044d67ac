"""Rebuild: a new generation of everything, built beside the live one and swapped in at once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.servers.kafka import Broker
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.pipelines.recompute_requests import WHO, ask
from tests.support.pipelines.windowed_words import at, windows
from tidemill.contract.report import Outcome
from tidemill.engine.run import ingest as engine
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.journal import Journal
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.steps.decisions.flush import flush

TOTALS = """
from pyspark.sql import functions as F


def transform(sales):
    return sales.groupBy("id").agg((F.sum("amount") * {factor}).alias("total"))
"""


def sale(name: str, day: int, amount: int) -> dict[str, Any]:
    return {"id": name, "at": f"2026-03-{day:02d}T12:00:00Z", "amount": amount}


def flow_of(home: Path, transform: str, **spec: Any) -> JsonPipeline:
    spec = {"event_time": {"column": "at"}, **spec}
    return JsonPipeline(home, {"sales": "id string, at timestamp, amount long"}, spec, transform)


def test_other_partitions_without_a_file_that_does_not_count(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = windows(tmp_path)
    flow.arrive("events", "1", [at("12:01"), at("12:05")])
    flow.go("first")
    to = datetime(2026, 3, 1, 12, 10, tzinfo=UTC)
    flush(flow.pipeline, to, by="ada", reason="closed by hand", run_id="flush")
    flow.go("flushed")
    wrong = flow.arrive("events", "2 wrong", [at("12:11", "wrong")])
    gone = flow.arrive("events", "3", [at("12:12")])
    flow.go("second")
    assert counts(flow, "day") == [("12:00", "tide", 2, date(2026, 3, 1))]
    kept = gone.rename(tmp_path / gone.name)
    by_month = {"partition_by": {"month": "date_format(window.start, 'yyyy-MM')"}}
    flow.write(output=by_month, budget={"max_batches": 1})
    refused = ask(flow, "rebuild", "early", exclude=(wrong.name,))["ingest"]
    assert refused.error is not None
    assert refused.error["code"] == "InputLost"
    assert refused.error["data"]["lost"]["named"] == [str(gone)]
    assert current(flow.layout) == "live-0001"
    kept.rename(gone)

    whole = engine.ingest
    taken: list[Any] = []

    def ingest_once(*given: Any) -> Any:
        if taken:
            raise OSError("killed")
        taken.append(whole(*given))
        return taken[0]

    monkeypatch.setattr(engine, "ingest", ingest_once)
    with pytest.raises(OSError, match="killed"):
        ask(flow, "rebuild", "rebuild", exclude=(wrong.name,))
    monkeypatch.undo()
    done = flow.run("rebuild")
    assert done["publish"].outcome is Outcome.DONE, done["publish"]
    assert counts(flow, "month") == [("12:00", "tide", 2, "2026-03")]
    (takeover,) = read_takeovers(flow.layout.home)
    assert current(flow.layout) == takeover.generation
    assert Ledger(flow.layout, takeover.generation).batches()[0] == taken[0].batches[0]
    (event,) = [one for one in Journal(flow.layout.journal).events() if one.kind == "replace"]
    assert event.recomputation is not None
    assert (event.recomputation.by, event.recomputation.reason) == (WHO["by"], WHO["reason"])
    assert [file.path for file in event.recomputation.excludes] == [str(wrong)]
    # And on, in the new one.
    flow.arrive("events", "4", [at("12:40")])
    flow.go("later")
    assert counts(flow, "month")[1:] == [("12:10", "tide", 1, "2026-03")]


def counts(flow: JsonPipeline, partition: str) -> list[tuple[Any, ...]]:
    found = flow.published("window", "word", "count", partition)
    return [(f"{window['start']:%H:%M}", *rest) for window, *rest in found]


def test_what_goes_out_while_it_is_built_is_not_lost(tmp_path: Path, spark: object) -> None:
    flow = flow_of(tmp_path, TOTALS.format(factor=1), output={"mode": "update", "keys": ["id"]})
    flow.arrive("sales", "1", [sale("a", 1, 10), sale("b", 2, 20)])
    flow.go("first")
    flow.write(transform=TOTALS.format(factor=2))
    fix_request(flow.layout.run("rebuild"), RunRequest(role="rebuild", **WHO))
    assert flow.step("doctor", "rebuild").outcome is Outcome.DONE
    assert flow.step("ingest", "rebuild").outcome is Outcome.DONE
    flow.arrive("sales", "2", [sale("a", 3, 5), sale("c", 3, 7)])
    flow.go("live")
    assert flow.published() == [("a", 30), ("b", 20), ("c", 14)]
    assert flow.step("gate", "rebuild").outcome is Outcome.DONE
    published = flow.step("publish", "rebuild")
    assert published.outcome is Outcome.DONE, published
    assert flow.published() == [("a", 30), ("b", 40), ("c", 14)]
    (takeover,) = read_takeovers(flow.layout.home)
    assert (takeover.generation, takeover.predecessor, takeover.by) == (
        "live-0002",
        "live-0001",
        "ada",
    )
    # The first try was sealed before something else went out.
    tries = [one for one in Snapshot(flow.layout).increments if one.sealed.recomputation]
    assert [one.state for one in tries] == [State.SUPERSEDED, State.PASSED]
    flow.arrive("sales", "3", [sale("b", 4, 1)])
    flow.go("later")
    assert flow.published() == [("a", 30), ("b", 42), ("c", 14)]


def test_records_that_were_rejected_stay_out_and_it_begins_where_the_first_one_did(
    tmp_path: Path, spark: object, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = KafkaPipeline(tmp_path, broker, source={"startingOffsets": "latest"}, partitions=2)
    name = "AIRFLOW_CONN_TIDEMILL_KAFKA"
    monkeypatch.setenv(name, mill.environ[name])
    mill.produce_orders(0, 5)
    mill.run("before")
    mill.produce_orders(5, 5)
    mill.run("first")
    mill.produce(["no order"] * 3)
    assert mill.run("second")["gate"].outcome is Outcome.HELD
    (held,) = [one.number for one in Snapshot(mill.layout).increments if one.state == "held"]
    fix_request(mill.layout.run("rebuild"), RunRequest(role="rebuild", **WHO))
    for step in ("doctor", "ingest", "gate"):
        assert mill.step(step, "rebuild").outcome is Outcome.DONE
    # What it has read counts no more: it cannot give it back.
    wanted = RunRequest(role="reject", increment=held, **WHO)
    fix_request(mill.layout.run("reject"), wanted)
    mill.run("reject")
    mill.produce_orders(10, 3)
    mill.run("third")
    mill.assert_orders(13, first=5)
    published = mill.step("publish", "rebuild")
    assert published.outcome is Outcome.DONE, published
    mill.assert_orders(13, first=5)
    assert mill.rejected_rows() == []
    (takeover,) = read_takeovers(mill.layout.home)
    batches = Ledger(mill.layout, takeover.generation).batches()
    assert (takeover.generation, sum(batch.rejected for batch in batches)) == ("live-0003", 0)
    mill.produce_orders(13, 2)
    mill.run("later")
    mill.assert_orders(15, first=5)
