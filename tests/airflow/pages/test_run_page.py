"""The page of a run says what its steps did and what became of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.airflow.pages.conftest import token
from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import NAME, History
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome


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
