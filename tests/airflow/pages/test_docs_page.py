"""Data docs are for users who may read the pipeline's DAG, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.airflow.conftest import NAME
from tests.airflow.pages.conftest import token
from tests.support.airflow.fake_step import report_of
from tests.support.spec_text import minimal
from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill_airflow.operators.docs_link import DataDocsLink
from tidemill_airflow.pages.docs_page import find_page
from tidemill_airflow.task_names import resolve_id

PAGE = "validations/orders/page.html"


@pytest.fixture
def docs(layout: Layout) -> Path:
    """A docs folder with a page, between files that must not be served."""
    page = layout.docs / PAGE
    page.parent.mkdir(parents=True)
    page.write_text("<p>judged</p>")
    (layout.home / "lease.json").write_text("secret")
    (layout.docs / "outside").symlink_to(layout.home)
    (layout.root / "docs").mkdir()
    return layout.docs


def test_a_page_is_found(docs: Path) -> None:
    assert find_page(docs, PAGE) == (docs / PAGE).resolve()


@pytest.mark.parametrize(
    "path",
    [
        "../lease.json",
        "validations/../../lease.json",
        "outside/lease.json",
        "/etc/passwd",
        "..",
        "",
        "validations",
        "no/such.html",
        "page\0.html",
        "x" * 5000,
    ],
)
def test_nothing_outside_the_docs_folder_is_found(docs: Path, path: str) -> None:
    assert find_page(docs, path) is None


@pytest.mark.parametrize("dag_id", [NAME, resolve_id(NAME)])
def test_the_gates_button_leads_to_the_page_of_its_run(
    layout: Layout, docs: Path, dag_id: str
) -> None:
    key = cast("Any", SimpleNamespace(dag_id=dag_id, task_id="gate", run_id="a b"))
    link = DataDocsLink()
    assert link.get_link(cast("Any", None), ti_key=key) == ""
    report = report_of("gate", Outcome.HELD, facts={"docs": str(docs / PAGE)})
    reports.write(report, layout.run("a b"))
    assert link.get_link(cast("Any", None), ti_key=key) == f"/tidemill/docs/{NAME}/{PAGE}"


def test_whoever_may_read_the_dag_reads_the_page(api: Any, docs: Path) -> None:
    answer = api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=token("viewer"))
    assert (answer.status_code, answer.text) == (200, "<p>judged</p>")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "no-store" in answer.headers["cache-control"]


def test_no_script_of_a_page_runs_in_airflows_origin(api: Any, docs: Path) -> None:
    answer = api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=token("viewer"))
    policy = [part.split() for part in answer.headers["content-security-policy"].split(";")]
    assert ["default-src", "'none'"] in policy
    assert not [part for part in policy if part[0].startswith("script-src")]
    sandbox = next(part for part in policy if part[0] == "sandbox")
    assert "allow-scripts" not in sandbox
    assert ["img-src", "'self'", "data:"] in policy
    assert not [word for part in policy for word in part if word in ("https:", "http:", "*")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"Authorization": "Bearer made.up.token"}, 403)],
)
def test_an_anonymous_user_does_not(
    api: Any, docs: Path, headers: dict[str, str], status: int
) -> None:
    assert api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=headers).status_code == status


def test_a_user_who_may_not_read_the_dag_does_not(api: Any, docs: Path) -> None:
    answer = api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=token(None))
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("group", "of", "status"),
    [
        ("", NAME, 200),
        ("", "shop", 403),
        ("group: shop\n", "shop", 200),
        ("group: shop\n", NAME, 403),
    ],
)
def test_the_pages_of_a_group_are_for_the_readers_of_its_dag(
    api: Any,
    project: Path,
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    of: str,
    status: int,
) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    def reads_one_dag(*, details: Any, **_: Any) -> bool:
        return bool(details.id == of)

    (project / "dags" / "specs" / f"{NAME}.yaml").write_text(minimal(group))
    monkeypatch.setattr(get_auth_manager(), "is_authorized_dag", reads_one_dag)
    answer = api.get(f"/tidemill/docs/{NAME}/{PAGE}", headers=token("viewer"))
    assert answer.status_code == status


@pytest.mark.parametrize(
    "path",
    [
        f"{NAME}/..%2flease.json",
        f"{NAME}/%2e%2e/lease.json",
        f"{NAME}/outside/lease.json",
        f"{NAME}/%2fetc%2fpasswd",
        "..%2fdocs/x",
        "~/x",
        "Orders/x",
        f"{NAME}/",
    ],
)
def test_no_address_leads_out_of_the_docs_folder(api: Any, docs: Path, path: str) -> None:
    assert api.get(f"/tidemill/docs/{path}", headers=token("admin")).status_code == 404


def test_the_app_tells_nothing_about_itself(api: Any) -> None:
    for path in ("docs", "redoc", "openapi.json"):
        assert api.get(f"/tidemill/{path}", headers=token("admin")).status_code == 404
