"""Each page is for eyes, ears and keyboard: in light and in dark, and in a narrow window."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.airflow.pages.conftest import token
from tests.browser.accessibility import complaints
from tests.reporting.test_incident import judged
from tests.support.airflow.fake_step import report_of
from tests.support.histories.chained_history import ChainedHistory
from tests.support.histories.held_recomputation import dry_run, hold_again
from tests.support.histories.history_builder import NAME, History, reject, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome, SparkApplication
from tidemill.journal.partition_set import Partitions

DAYS = Partitions(columns=("day",), values=(("2026-03-01",), ("2026-03-02",)))
LONG = "x" * 300
PAGES = {
    "the list": "pipelines",
    "a filter that leaves nothing": "pipelines?state=behind",
    "a pipeline": f"pipelines/{NAME}",
    "a held increment": f"pipelines/{NAME}/increments/4",
    "a held backfill": f"pipelines/{NAME}/increments/5",
    "a run": f"pipelines/{NAME}/runs/run-4",
    "a dry run": f"pipelines/{NAME}/runs/dry",
    "a refusal": f"pipelines/{NAME}/increments/77",
}


@pytest.fixture
def mill(history: History, monkeypatch: pytest.MonkeyPatch) -> History:
    """A pipeline that has something to show in each part of its pages."""
    monkeypatch.setenv("TIDEMILL_SPARK_HISTORY", "http://history:18080")
    history.batch(rows(5), [reject(LONG)])
    bad = judged(50.0, samples=(LONG, "-1"))
    history.judge(history.seal().increment, "held", judgement=bad)
    spark = SparkApplication(id="local-7", logs_events=True)
    for step, outcome in (("ingest", Outcome.DONE), ("gate", Outcome.HELD)):
        report = report_of(step, outcome, reason=LONG, spark=spark)
        reports.write(report, history.layout.run("run-4"))
    dry_run(history, "dry", DAYS)
    assert hold_again(history, DAYS) == 5
    ChainedHistory(history.home, upstream=NAME)
    return history


def test_no_page_leaves_a_reader_out(api: Any, mill: History, browser: Browser) -> None:
    found = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        for name, path in PAGES.items():
            headers = token("user") | {"Accept": "text/html"}
            page.set_content(api.get(f"/tidemill/{path}", headers=headers).text)
            found[scheme, name] = complaints(page)
        page.close()
    assert found == {page: [] for page in found}


def test_what_a_page_lacks_is_found(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(
        """<h3>Too deep</h3><p style="color: #bbb">pale</p><a href="/"></a><input>
        <div style="width: 900px">wide</div><table><tr><th>1<td>2</table>"""
    )
    found = " ".join(complaints(page))
    page.close()
    for said in ("no title", "no main", "without a name: - link", "without a name: - textbox",
                 "heading of its own", "no caption", "no scope", "contrast 1.9: pale",
                 "wider than a window"):  # fmt: skip
        assert said in found
