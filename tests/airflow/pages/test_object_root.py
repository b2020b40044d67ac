"""The pages of a root in an object store, whose connection only Airflow's database has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.airflow.pages.conftest import token
from tests.servers.s3 import S3
from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import NAME, History, reject, rows
from tests.support.s3_root import CONN_ID, new_root
from tidemill.contract import report as reports
from tidemill.contract.connections.airflow import variable
from tidemill.contract.report import Outcome
from tidemill_airflow import root_connection
from tidemill_airflow.operators.docs_link import DataDocsLink

PAGE = "validations/orders/page.html"
JUDGED = "<p>judged</p>"


def set_connection(text: str) -> None:
    """What an administrator enters in Airflow's list of connections."""
    from airflow.models import Connection
    from airflow.utils.session import create_session

    forget_connection()
    with create_session() as session:
        session.add(Connection.from_json(text, conn_id=CONN_ID))


def forget_connection() -> None:
    from airflow.models import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.query(Connection).filter_by(conn_id=CONN_ID).delete()


@pytest.fixture
def history(tmp_path: Path, s3: S3, api: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[History]:
    """A published increment, a held one with a rejected row, and a page about it."""
    bucket = new_root(s3, monkeypatch)
    set_connection(os.environ[variable(CONN_ID)])
    monkeypatch.delenv(variable(CONN_ID))
    # As `airflow.api_fastapi.main` does, which starts a server.
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    # A password may have changed since the test before.
    monkeypatch.setattr(root_connection, "KEPT_SECONDS", 1e-9)
    history = History(tmp_path, bucket=bucket)
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), [reject("2;bad")], outcome="held")
    page = history.layout.docs / PAGE
    page.write_text(JUDGED)
    report = report_of("gate", Outcome.HELD, reason="it is held", facts={"docs": str(page)})
    reports.write(report, history.layout.run("run-2"))
    yield history
    forget_connection()


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("pipelines", f"/tidemill/pipelines/{NAME}"),
        ("pipelines.json", '"pipeline":"orders"'),
        (f"pipelines/{NAME}", f"/tidemill/pipelines/{NAME}/increments/2"),
        (f"dags/{NAME}/runs/run-2", "it is held"),
        (f"pipelines/{NAME}/increments/2", "2;bad"),
        (f"docs/{NAME}/{PAGE}", JUDGED),
    ],
)
def test_a_page_shows_what_is_in_the_bucket(
    api: Any, history: History, place: str, shown: str
) -> None:
    assert variable(CONN_ID) not in os.environ
    answer = api.get(f"/tidemill/{place}", headers=token("viewer"))
    assert answer.status_code == 200
    assert shown in answer.text


def test_a_page_of_data_docs_has_the_headers_that_it_has_on_a_disk(
    api: Any, history: History
) -> None:
    answer = api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=token("viewer"))
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["no/such.html", "..%2fstatus.json", "%2e%2e/status.json", "%2fetc%2fpasswd", "a%00b"]
)
def test_no_address_leads_out_of_the_docs_folder(api: Any, history: History, path: str) -> None:
    (history.layout.home / "status.json").write_text("{}")
    answer = api.get(f"/tidemill/docs/{NAME}/{path}", headers=token("admin"))
    assert answer.status_code == 404


def test_the_gates_button_leads_to_the_page(history: History) -> None:
    key = cast("Any", SimpleNamespace(dag_id=NAME, task_id="gate", run_id="run-2"))
    link = DataDocsLink().get_link(cast("Any", None), ti_key=key)
    assert link == f"/tidemill/docs/{NAME}/{PAGE}"


def test_a_changed_connection_is_used_and_a_missing_one_is_named(
    api: Any, history: History, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status() -> int:
        return int(api.get("/tidemill/pipelines", headers=token("viewer")).status_code)

    right = s3.connection_at(s3.endpoint)
    monkeypatch.setattr("tests.servers.s3.PASSWORD", "a wrong secret")
    set_connection(s3.connection_at(s3.endpoint))
    assert status() == 500
    forget_connection()
    answer = api.get("/tidemill/pipelines", headers=token("viewer"))
    assert answer.status_code == 500
    assert CONN_ID in answer.text
    set_connection(right)
    assert status() == 200
