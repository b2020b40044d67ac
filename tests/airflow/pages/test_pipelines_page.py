"""The list of pipelines: what needs attention first, and nothing that the user may not see."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.airflow.pages.conftest import token
from tests.support.opened_files import opened_files
from tests.support.pipelines.many_pipelines import HELD, WAITING, ManyPipelines

Pages = Callable[..., Any]


@pytest.fixture
def mill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManyPipelines:
    mill = ManyPipelines(tmp_path)
    for name, value in mill.environ.items():
        monkeypatch.setenv(name, value)
    return mill


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    """Opens a page as a user who may read all DAGs, or some; no Airflow runs."""
    from airflow.api_fastapi.core_api.security import get_user
    from fastapi.testclient import TestClient

    from tidemill_airflow.pages import pipelines_page
    from tidemill_airflow.pages.app import build_app

    app = build_app()
    app.dependency_overrides[get_user] = object
    with TestClient(app) as client:

        def get(path: str, readable: Collection[str] | None = None, **query: str) -> Any:
            monkeypatch.setattr(
                pipelines_page,
                "permitted",
                lambda ids, user: {one for one in ids if readable is None or one in readable},
            )
            return client.get(path, params=query, headers={"Accept": "text/html"})

        yield get


def names(answer: Any) -> list[str]:
    """The pipelines of a page, in order."""
    assert answer.status_code == 200
    return re.findall(r'<th scope="row"><a href="/tidemill/pipelines/(\w+)">', answer.text)


def test_what_needs_a_person_comes_first(mill: ManyPipelines, pages: Pages) -> None:
    mill.add("a_fine")
    mill.add("b_waiting", **WAITING)
    mill.add("c_held", **HELD)
    mill.add("d_behind", lagging={"files": 3})

    assert names(pages("/pipelines")) == ["c_held", "d_behind", "b_waiting", "a_fine"]
    found = pages("/pipelines.json").json()
    assert [(one["pipeline"], one["state"]) for one in found] == [
        ("c_held", "held"),
        ("d_behind", "behind"),
        ("b_waiting", "waiting"),
        ("a_fine", "fine"),
    ]


def test_a_pipeline_is_shown_to_the_readers_of_its_dag_only(
    mill: ManyPipelines, pages: Pages
) -> None:
    mill.add("alone")
    mill.add("grouped", "group: shop\n")
    mill.add("secret", "airflow: {owner: nobody_knows}\n")

    assert names(pages("/pipelines", readable={"alone", "shop"})) == ["alone", "grouped"]
    page = pages("/pipelines", readable={"grouped"})
    assert names(page) == []
    assert "nobody_knows" not in page.text
    assert pages("/pipelines.json", readable={"shop"}).json()[0]["pipeline"] == "grouped"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ({"state": "held"}, ["returns"]),
        ({"owner": "bea"}, ["orders"]),
        ({"tag": "shop"}, ["returns", "orders"]),
        ({"name": "ORD"}, ["orders"]),
        ({"tag": "shop", "state": "fine"}, ["orders"]),
        ({"tag": "none"}, []),
    ],
)
def test_a_filter_keeps_what_fits(
    mill: ManyPipelines, pages: Pages, query: dict[str, str], kept: list[str]
) -> None:
    mill.add("orders", "airflow: {owner: bea, tags: [shop]}\n")
    mill.add("returns", "airflow: {tags: [shop, late]}\n", **HELD)
    mill.add("weather")

    assert names(pages("/pipelines", **query)) == kept
    assert [one["pipeline"] for one in pages("/pipelines.json", **query).json()] == kept


def test_pipelines_of_one_template_share_a_row_unless_a_filter_is_set(
    mill: ManyPipelines, pages: Pages
) -> None:
    mill.add("shops")
    (spec,) = mill.home.rglob("shops.yaml")
    spec.write_text(f"each: {{de: {{}}, uk: {{}}}}\n{spec.read_text()}")
    both = ["shops_de", "shops_uk"]

    folded = pages("/pipelines")
    assert (names(folded), "2 never run" in folded.text) == ([], True)
    assert names(pages("/pipelines", unfolded="true")) == both
    assert names(pages("/pipelines", name="shops")) == both
    assert [one["template"] for one in pages("/pipelines.json").json()] == ["shops", "shops"]


def test_the_page_opens_one_document_for_each_pipeline_and_no_spec(
    mill: ManyPipelines, pages: Pages
) -> None:
    for number in range(30):
        mill.add(f"p{number:03d}", **(HELD if number % 3 == 0 else {}))
    pages("/pipelines")

    with opened_files(mill.home) as opened:
        assert len(names(pages("/pipelines"))) == 30

    assert sorted(opened) == sorted(mill.root.glob("*/status.json"))


def test_what_a_row_or_a_spec_says_is_text(mill: ManyPipelines, pages: Pages) -> None:
    evil = "</td><script>alert(1)</script><img src=x onerror=alert(1)>"
    held = HELD["held"][0].model_copy(update={"reasons": (evil,)})
    mill.add("orders", held=(held,))

    page = pages("/pipelines", name='"><script>alert(2)</script>')
    listed = pages("/pipelines")

    assert "alert(2)</script>" not in page.text
    assert "<script>alert" not in listed.text
    assert "&lt;script&gt;alert(1)" in listed.text


def test_only_the_pages_own_script_and_style_may_act(mill: ManyPipelines, pages: Pages) -> None:
    mill.add("orders")
    answer = pages("/pipelines")
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-\S+='", policy["script-src"])
    assert re.fullmatch(r"'sha256-\S+='", policy["style-src"])
    assert policy["form-action"] == policy["frame-ancestors"] == "'self'"
    assert not re.search(r"https?://", answer.text)
    assert 'style="' not in answer.text
    assert "no-store" in answer.headers["cache-control"]


def test_the_table_is_one_for_eyes_ears_and_keyboard(mill: ManyPipelines, pages: Pages) -> None:
    mill.add("c_held", **HELD)
    mill.add("fine")
    page = pages("/pipelines").text

    (found,) = re.findall(r"<table>.*</table>", page, re.DOTALL)
    table = ElementTree.fromstring(found)  # noqa: S314 # our own page
    columns = table.findall("thead/tr/th")
    rows = table.findall("tbody/tr")
    assert all(column.get("scope") == "col" for column in columns)
    assert all(len(row) == len(columns) for row in rows)
    assert all(row[0].tag == "th" and row[0].get("scope") == "row" for row in rows)
    assert table.find("caption") is not None
    # The state is a word, the sign before it an ornament of a shape of its own.
    signs = {row[1][0][0][0].get("d") for row in rows}
    words = ["".join(row[1].itertext()).split()[-1] for row in rows]
    assert (words, len(signs)) == (["held", "fine"], 2)
    assert all(row[1][0][0].get("aria-hidden") == "true" for row in rows)
    for chart in table.iterfind(".//svg[@class='bars']"):
        assert chart.get("role") == "img"
        assert re.match(r"[\d,]+ rows? in two weeks", chart.get("aria-label", ""))
    assert page.count("<label>") == page.count("</label>") == 4


def test_an_address_without_a_page_says_so_as_a_page(mill: ManyPipelines, pages: Pages) -> None:
    answer = pages("/no/such")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


def test_an_api_server_without_a_root_says_what_it_lacks(
    mill: ManyPipelines, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMILL_ROOT")
    answer = pages("/pipelines")
    assert answer.status_code == 500
    assert "TIDEMILL_ROOT" in answer.text


def test_airflow_has_the_page_in_its_navigation_and_asks_who_it_is(
    api: Any, mill: ManyPipelines
) -> None:
    mill.add("orders")
    plugins = api.get("/api/v2/plugins", headers=token("admin")).json()["plugins"]
    views = [view for plugin in plugins for view in plugin["external_views"]]
    (view,) = (view for view in views if view["destination"] == "nav")
    assert api.get(view["href"]).status_code == 401
    assert api.get(view["href"], headers=token(None)).status_code == 200
    assert names(api.get(view["href"], headers=token(None))) == []
    assert names(api.get(view["href"], headers=token("viewer"))) == ["orders"]
