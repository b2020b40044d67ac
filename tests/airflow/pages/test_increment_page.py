"""The page of an increment is for whoever may read its DAG, and starts the DAG that decides."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.airflow.pages.conftest import token
from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import NAME, History
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome
from tidemill_airflow.local.metadata import forget
from tidemill_airflow.operators.increment_link import IncrementLink
from tidemill_airflow.task_names import resolve_id

PAGE = f"/tidemill/pipelines/{NAME}/increments"


@pytest.fixture
def resolve_dag(airflow_database: None, history: History) -> Iterator[str]:
    """The DAG of decisions, as Airflow's scheduler knows it."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

    from tidemill_airflow.integrity import DAG_FILE

    # Another file of tests may have left runs of it in the database.
    forget(resolve_id(NAME))
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(DAG_FILE, bundle_name="dags-folder")
    bag.dags = {resolve_id(NAME): bag.dags[resolve_id(NAME)]}
    sync_bag_to_db(bag, "dags-folder", None)
    yield resolve_id(NAME)
    forget(resolve_id(NAME))


def test_the_page_says_why_it_is_held_and_what_can_be_decided(api: Any, history: History) -> None:
    answer = api.get(f"{PAGE}/2", headers=token("user"))
    assert answer.status_code == 200
    assert "<script>alert(1)" not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text
    assert [f'value="{action}"' in answer.text for action in ("release", "reject", "redo")] == [
        True
    ] * 3
    assert f"{PAGE}/3" in answer.text


def test_a_published_increment_has_a_page_without_decisions(api: Any, history: History) -> None:
    answer = api.get(f"{PAGE}/1", headers=token("viewer"))
    assert (answer.status_code, "<form" in answer.text) == (200, False)


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [("viewer", "2", 200), ("viewer", "77", 404), (None, "2", 403)],
)
def test_who_may_not_read_the_dag_sees_nothing(
    api: Any, history: History, headers: str | None, path: str, status: int
) -> None:
    assert api.get(f"{PAGE}/{path}", headers=token(headers)).status_code == status


def test_a_damaged_document_is_said(api: Any, history: History) -> None:
    torn = history.increments.folder_of(2) / "sealed.json"
    torn.write_text("{")
    answer = api.get(f"{PAGE}/2", headers=token("viewer") | {"Accept": "text/html"})
    assert (answer.status_code, str(torn) in answer.text) == (500, True)


def test_a_decision_starts_the_dag_that_asks_for_approval(
    api: Any, resolve_dag: str, history: History
) -> None:
    answer = api.post(
        f"{PAGE}/2/decisions",
        data={"action": "release", "reason": " known sensor "},
        headers=token("user"),
        follow_redirects=False,
    )
    assert answer.status_code == 303
    asked = answer.headers["location"].partition("asked=")[2]
    (run,) = runs_of(resolve_dag)
    assert run.conf == {"action": "release", "increment": 2, "reason": "known sensor"}
    assert (run.triggering_user_name, run.run_type) == ("somebody", "manual")
    page = api.get(answer.headers["location"], headers=token("user"))
    assert f"/runs/{asked}/tasks/approve" in page.text


def test_a_redo_names_the_files_that_are_ticked(
    api: Any, resolve_dag: str, history: History
) -> None:
    files = ["/feed/a.csv", "/feed/b, c.csv"]
    form = {"action": "redo", "reason": "mended", "exclude": files}
    api.post(f"{PAGE}/2/decisions", data=form, headers=token("user"), follow_redirects=False)
    (run,) = runs_of(resolve_dag)
    assert run.conf == {"action": "redo", "reason": "mended", "exclude": files}


def test_who_may_only_read_is_told_so_and_has_no_button(api: Any, history: History) -> None:
    page = api.get(f"{PAGE}/2", headers=token("viewer")).text
    assert ("<button" in page, "may not start runs" in page) == (False, True)
    assert "<button" in api.get(f"{PAGE}/2", headers=token("user")).text


def runs_of(dag_id: str) -> list[Any]:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        return [*session.scalars(select(DagRun).where(DagRun.dag_id == dag_id))]


@pytest.mark.parametrize(
    ("role", "form", "more", "status"),
    [
        ("viewer", {"action": "release", "reason": "x"}, {}, 403),
        ("user", {"action": "release", "reason": " "}, {}, 400),
        ("user", {"action": "drop", "reason": "x"}, {}, 400),
        ("user", {"action": "release", "reason": "x"}, {"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_a_decision_that_may_not_be_starts_nothing(
    api: Any, history: History, role: str, form: dict[str, str], more: dict[str, str], status: int
) -> None:
    headers = token(role) | more
    assert api.post(f"{PAGE}/2/decisions", data=form, headers=headers).status_code == status


def test_the_gates_button_leads_to_the_increment_of_its_run(history: History) -> None:
    key = cast("Any", SimpleNamespace(dag_id=NAME, task_id="gate", run_id="r"))
    link = IncrementLink()
    assert link.get_link(cast("Any", None), ti_key=key) == ""
    report = report_of("gate", Outcome.HELD, facts={"increment": 2})
    reports.write(report, history.layout.run("r"))
    assert link.get_link(cast("Any", None), ti_key=key) == f"{PAGE}/2"
