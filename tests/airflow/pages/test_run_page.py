"""The page of a run says what its steps did and what became of its rows."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests.airflow.pages.conftest import token
from tests.support.airflow.fake_step import report_of
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import NAME, History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import LostExecutor, Outcome, SparkApplication


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}", f"dags/{NAME}__resolve"])
def test_a_run_shows_its_steps_and_the_increment_it_sealed(
    api: Any, history: History, place: str
) -> None:
    report = report_of("gate", Outcome.HELD, reason="increment 000002 is held: <b>bad</b>")
    reports.write(report, history.layout.run("run-2"))
    answer = api.get(f"/tidemill/{place}/runs/run-2", headers=token("viewer"))
    assert answer.status_code == 200
    assert "increment 000002 is held: &lt;b&gt;bad&lt;/b&gt;" in answer.text
    assert f"/tidemill/pipelines/{NAME}/increments/2" in answer.text
    assert "1 malformed" in answer.text


@pytest.mark.parametrize(
    ("server", "logs_events", "link"),
    [
        ("https://spark.example/past/", True, "https://spark.example/past/history/local-7/"),
        ("history:18080", True, "http://history:18080/history/local-7/"),
        ("history:18080", False, None),
        ("", True, None),
    ],
)
def test_a_run_links_what_sparks_history_server_has_of_it(
    api: Any,
    history: History,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    logs_events: bool,
    link: str | None,
) -> None:
    monkeypatch.setenv("TIDEMILL_SPARK_HISTORY", server)
    application = SparkApplication(id="local-7", logs_events=logs_events)
    report = report_of("ingest", Outcome.DONE, spark=application)
    reports.write(report, history.layout.run("run-2"))
    page = api.get(f"/tidemill/pipelines/{NAME}/runs/run-2", headers=token("viewer")).text
    assert "<code>local-7</code>" in page
    assert re.findall(r'href="([^"]*/history/[^"]*)"', page) == ([link] if link else [])


def test_a_run_names_the_executors_that_it_lost_and_links_their_logs(
    api: Any, history: History
) -> None:
    logs = {"stderr": "http://worker:8081/logPage/?executorId=0&logType=stderr", "other": "file:/x"}
    lost = LostExecutor(id="0", host="worker:4711", reason="Command exited <with> 137", logs=logs)
    application = SparkApplication(id="app-7", lost_executors=(lost,))
    report = report_of("ingest", Outcome.DONE, spark=application)
    reports.write(report, history.layout.run("run-2"))
    page = api.get(f"/tidemill/pipelines/{NAME}/runs/run-2", headers=token("viewer")).text
    assert "executor 0 on worker:4711: Command exited &lt;with&gt; 137" in page
    assert [html.unescape(link) for link in re.findall(r'href="([^"]*logPage[^"]*)"', page)] == [
        logs["stderr"]
    ]
    assert "file:/x" not in page


def test_a_backfills_page_says_that_it_counts_no_rows_read(api: Any, history: History) -> None:
    made_again(history, rows(1), run_id="again", partitions=days("2024-01-01"))
    page = api.get(f"/tidemill/pipelines/{NAME}/runs/again", headers=token("viewer")).text
    assert "to compute something again are not counted" in page
    assert "A driver died" not in page


def test_a_dry_run_is_told_in_rows_and_partitions(api: Any, history: History) -> None:
    found = {"added": 8, "removed": 7, "changed": 0, "rows": 1_234, "rejected": 2, "inputs": 7,
             "input_bytes": 1_500, "columns": ["day"], "partitions": [["2026-03-01"]]}  # fmt: skip
    report = report_of("ingest", Outcome.DONE, facts={"dry_run": found})
    reports.write(report, history.layout.run("run-2"))
    page = api.get(f"/tidemill/pipelines/{NAME}/runs/run-2", headers=token("viewer")).text
    assert "1,234 rows, 2 rejected, from 7 inputs of 1.5 kB" in page
    assert "day: 2026-03-01" in page


def test_a_run_that_has_done_nothing_has_a_page(api: Any, history: History) -> None:
    answer = api.get(f"/tidemill/dags/{NAME}/runs/manual__2026", headers=token("viewer"))
    assert (answer.status_code, "This run has done nothing yet." in answer.text) == (200, True)


def test_the_tab_of_a_dag_of_others_says_so(api: Any, history: History) -> None:
    answer = api.get("/tidemill/dags/other/runs/r", headers=token("viewer"))
    assert (answer.status_code, "runs no pipeline" in answer.text) == (200, True)


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}"])
def test_who_may_not_read_the_dag_sees_no_run(api: Any, history: History, place: str) -> None:
    answer = api.get(f"/tidemill/{place}/runs/run-2", headers=token(None))
    assert answer.status_code == 403
