"""A pipeline's page knows its newest increments, what waits, its targets and its sources."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.airflow.fake_step import report_of
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, rows
from tests.support.histories.net_history_builder import NetHistory, count
from tidemill.contract import report as reports
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.late_rows import LateCount, LateLog, LateRows
from tidemill.reporting.effective_spec import effective_spec
from tidemill.reporting.pipeline_history import read_history
from tidemill.reporting.pipeline_status import read_status
from tidemill.steps.decisions.reject import reject


def test_the_newest_increments_come_first_and_what_waits_stands_apart(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(3):
        history.increment(rows(number))
    history.publish("run-3")
    history.increment(rows(3), outcome="held")
    history.increment(rows(4))

    found = read_history(history.layout, ["delta"], 3)

    assert [one.status.increment for one in found.increments] == [5, 4, 3]
    assert [one.status.increment for one in found.waiting] == [4, 5]
    assert [one.status.version for one in found.increments] == [None, None, 2]
    assert set(found.increments[2].seconds) == {"publish"}
    (head,) = found.targets
    assert (head.increment, head.version, head.behind) == (3, 2, 0)
    (position,) = found.positions
    assert position.newest_file is not None
    assert position.newest_file.endswith("f0004.csv")


def test_a_backfill_that_was_rejected_is_dropped_and_waits_for_nothing(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.increment(rows(1))
    history.publish()
    backfill = made_again(history, rows(2), run_id="again", partitions=days("2024-01-01"))
    history.judge(backfill, "held")
    assert [one.status.state for one in read_history(history.layout, []).waiting] == ["held"]

    reject(history.pipeline, backfill, by="ada", reason="a wrong rule", run_id="decision")
    history.publish("next")

    assert history.ids() == [1]
    found = read_history(history.layout, ["delta"])
    assert [one.status.state for one in found.increments] == ["dropped", "published"]
    assert (found.waiting, read_status(history.layout).unpublished) == ((), ())


def test_a_pipeline_that_never_ran_has_a_page(tmp_path: Path) -> None:
    found = read_history(History(tmp_path).layout, ["delta"])
    assert (found.increments, found.waiting, found.batches) == ((), (), 0)


def test_each_setting_says_which_line_gave_it(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.write_spec(inputs='"${FEED}"', more="env: {FEED: /secret/feed}")

    settings = {one.field: one for one in effective_spec(history.pipeline)}

    assert settings["sources.orders.path"].value == "${FEED}"
    assert settings["sources.orders.path"].line == 2
    assert (settings["gate.empty"].value, settings["gate.empty"].line) == ("hold_input", None)


def edited(path: Path, **changes: Any) -> None:
    """Change keys of a document as another past would have written them."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_query_with_state_shows_late_rows_watermark_and_state(tmp_path: Path) -> None:
    history = NetHistory(tmp_path, pipeline_class=PipelineClass.WINDOW)
    for hour in (1, 2, 3):
        history.increment([count("open", hour, 1)])
    log = LateLog(history.layout, "live-0001")
    late = LateCount(operator="Aggregate", source="events", rows=7)
    log.put(LateRows(batch=0, watermark_ms=0, counts=(late,)))
    log.put(LateRows(batch=1, watermark_ms=0, unknown="the spec has changed since"))
    edited(history.ledger.folder / "000002.json", watermark_after_ms=1_772_323_200_000)
    state = {"batch": 2, "operators": []}
    report = report_of("ingest", Outcome.DONE, facts={"state": state})
    reports.write(report, history.layout.run("run-2"))

    found = read_history(history.layout, [])

    assert [one.late for one in found.increments] == [None, None, 7]
    assert found.watermark == datetime(2026, 3, 1, tzinfo=UTC)
    assert found.state == state


def test_a_stateful_pipeline_that_reported_no_state_has_none(tmp_path: Path) -> None:
    history = NetHistory(tmp_path, pipeline_class=PipelineClass.WINDOW)
    history.increment([count("open", 1, 1)])
    assert read_history(history.layout, ["delta"]).state is None


def test_recomputations_name_who_asked_and_static_inputs_their_copy(tmp_path: Path) -> None:
    history = History(tmp_path)
    number = history.increment(rows(1))
    again = Recomputation(
        kind="backfill",
        generation="live-0001",
        first=0,
        last=0,
        seq=0,
        code_hash="c",
        spec_hash="s",
        by="ann",
        reason="mended",
    )
    sealed = history.snapshot.get(number).sealed
    history.increments.seal(
        sealed.model_copy(update={"increment": number + 1, "recomputation": again})
    )
    pin = {"kind": "file", "identity": "abc", "files": [], "rows": 3}
    edited(history.ledger.folder / "000000.json", static={"shops": pin})

    found = read_history(history.layout, ["delta"])

    assert [(one.asked_by, one.asked_why) for one in found.recomputations] == [("ann", "mended")]
    (static,) = found.statics
    assert (static.name, static.identity, static.rows) == ("shops", "abc", 3)
    assert found.targets[0].event is None
