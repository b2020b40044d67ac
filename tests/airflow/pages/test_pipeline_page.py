"""The page of a pipeline shows its increments, held ones first, its targets and its spec."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.pages.conftest import token
from tests.support.airflow.fake_step import report_of
from tests.support.histories.held_recomputation import hold_again
from tests.support.histories.history_builder import NAME, History
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.histories.played_chain import PlayedChain
from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract import report as reports
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.journal.partition_set import Partitions

LINK = r'<a href="/tidemill/pipelines/(\w+)">'


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}", f"dags/{NAME}__resolve"])
def test_the_page_shows_what_is_held_before_what_was_published(
    api: Any, history: History, place: str
) -> None:
    answer = api.get(f"/tidemill/{place}", headers=token("viewer"))
    assert answer.status_code == 200
    held, newest = answer.text.index("Held and waiting"), answer.text.index("<h2>Increments")
    assert held < newest
    assert all(f"/tidemill/pipelines/{NAME}/increments/{n}" in answer.text for n in (1, 2, 3))
    assert "output.partition_by.day" in answer.text


def test_the_page_shows_sources_static_inputs_state_watermark_and_who_computed_again(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = NetHistory(tmp_path, pipeline_class=PipelineClass.WINDOW)
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    for hour in (1, 2):
        history.increment([count("open", hour, 1)])
    last = history.ledger.folder / "000001.json"
    batch = json.loads(last.read_text())
    batch["offsets"] |= {"clicks": {"clicks-topic": {"0": 17}}}
    batch["static"] = {"shops": {"kind": "file", "identity": "abc", "files": [], "rows": 3}}
    last.write_text(json.dumps(batch | {"watermark_after_ms": 1_772_323_200_000}))
    operators = [{"name": "Aggregate", "rows": 1_234, "memory_bytes": 5_000_000}]
    report = report_of("ingest", Outcome.DONE, facts={"state": {"operators": operators}})
    reports.write(report, history.layout.run("run-2"))
    hold_again(history, Partitions())

    page = api.get(f"/tidemill/pipelines/{NAME}", headers=token("viewer")).text
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))

    assert "Class window, output mode update" in text
    assert "Watermark 2026-03-01 00:00 UTC" in text
    assert "State of its query Aggregate: 1,234 rows, 5.0 MB of memory" in text
    assert f"orders {history.inputs / 'f0001.csv'}" in text
    assert 'clicks {"clicks-topic": {"0": 17}}' in text
    assert "shops file abc 0 3" in text
    assert "Increment 000003 : backfill by ada, mended" in text


@pytest.mark.parametrize(
    ("readable", "linked", "drawn"),
    [
        (
            None,
            ["orders", "third"],
            ["orders is read by second.", "second is read by third.", "third is read by reports."],
        ),
        ({"orders", "second", "reports"}, ["orders"], ["orders is read by second."]),
        ({"second"}, [], []),
    ],
)
def test_the_page_links_and_draws_the_chain_as_far_as_the_user_may_read_it(
    api: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    readable: set[str] | None,
    linked: list[str],
    drawn: list[str],
) -> None:
    from tidemill_airflow.pages import pipeline_page

    chain = PlayedChain(tmp_path)
    for name, value in chain.first.environ.items():
        monkeypatch.setenv(name, value)
    chain.append(1)
    chain.settle()
    chain.backfill(2)
    chain.second.turn()
    statics = {"statics": {"shops": {"kind": "table", "pipeline": "third"}}}
    transform = "def transform(rows, shops):\n    return rows\n"
    JsonPipeline(tmp_path, {"rows": "id long"}, statics, transform, name="reports")
    if readable is not None:
        monkeypatch.setattr(pipeline_page, "permitted", lambda ids, user: readable & {*ids})

    page = api.get("/tidemill/pipelines/second", headers=token("viewer")).text

    lists, _, after = page.partition("<h2>Chain")
    links = re.findall(LINK, lists)
    assert [name for name in links if name != "second"] == linked
    drawing, _, _ = after.partition("</svg>")
    assert re.findall(r"\w+ is read by [\w ,]+\.", drawing) == drawn
    boxes = re.findall(r"<text [^>]+>(\w+)<", drawing)
    assert {*boxes} == {*re.findall(r"\b(?:orders|second|third|reports)\b", " ".join(drawn))}
    assert {*re.findall(LINK, drawing)} == {*boxes} - {"second"}
    assert ("third" in page) is ("third" in linked)
    assert ("due there: " in page) is ("third" in linked)


def test_a_spec_that_does_not_load_is_said_beside_the_history(api: Any, history: History) -> None:
    history.project.spec(NAME).write_text("sources: 1")
    answer = api.get(f"/tidemill/pipelines/{NAME}", headers=token("viewer"))
    assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)
    assert f"/tidemill/pipelines/{NAME}/increments/2" in answer.text


def test_a_damaged_document_is_said(api: Any, history: History) -> None:
    (history.increments.folder_of(2) / "sealed.json").write_text("{")
    answer = api.get(f"/tidemill/pipelines/{NAME}", headers=token("viewer"))
    assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)


def test_a_dag_of_others_has_a_tab_that_says_so(api: Any, history: History) -> None:
    answer = api.get("/tidemill/dags/other", headers=token("viewer"))
    assert (answer.status_code, "runs no pipeline" in answer.text) == (200, True)


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}"])
def test_who_may_not_read_the_dag_sees_no_pipeline(api: Any, history: History, place: str) -> None:
    assert api.get(f"/tidemill/{place}", headers=token(None)).status_code == 403
