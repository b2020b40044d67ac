"""Data docs quote rows: whatever these hold is text on the page, never an element of it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.parquet_sink import expect, sample_of, suite_of
from tidemill.contract.docs_policy import DIRECTIVES, STYLE_SHEETS
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge

SCRIPT = "<script>planted()</script>"
IMAGE = "<img src=planted onerror=planted()>"
FRAME = "</td></table><iframe src=//planted></iframe>"
ATTRIBUTE = '" onmouseover="planted()" \' onclick=\'planted()'
TEMPLATES = "$column ${column} {{7*7}} {% planted %} &lt;b&gt;"
HOSTILE = [SCRIPT, IMAGE, FRAME, ATTRIBUTE, TEMPLATES]


class Seen(HTMLParser):
    """The elements, attributes and texts of a page, as a browser would have them."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: list[str] = []
        self._verbatim = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def planted(self) -> list[tuple[str, list[tuple[str, str | None]]]]:
        """Elements that a value made: none of Great Expectations' own says `planted`."""
        handlers = ("onerror", "onmouseover")
        return [
            (tag, attrs)
            for tag, attrs in self.elements
            if tag == "iframe"
            or any(name in handlers or "planted" in name for name, _ in attrs)
            or any(
                name in ("src", "onclick") and "planted" in (value or "") for name, value in attrs
            )
        ]


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data docs of a judgement over hostile values, column names and arguments."""
    home = tmp_path_factory.mktemp("hostile")
    expectations = [
        expect("column_values_to_be_in_set", column="name", value_set=["good", *HOSTILE[:2]]),
        expect("column_values_to_be_in_set", column="name", value_set=["good"]),
        expect("column_values_to_match_regex", column="name", regex=f"^{SCRIPT}"),
        expect("column_distinct_values_to_equal_set", column="name", value_set=[IMAGE]),
        expect("column_most_common_value_to_be_in_set", column="name", value_set=[FRAME]),
        expect("table_columns_to_match_ordered_list", column_list=[SCRIPT, IMAGE, FRAME]),
        *(expect("column_values_to_be_null", column=name) for name in HOSTILE[:4]),
    ]
    columns = {"name": HOSTILE, **dict.fromkeys(HOSTILE[:4], HOSTILE)}
    judge(
        sample_of(columns, home),
        suite_of(home, *expectations),
        InProcess(),
        run_name=SCRIPT,
        docs=home / "docs",
        results=home / "runs" / "1",
        samples=20,
    )
    return home


def pages(home: Path) -> list[Path]:
    return [*(home / "docs" / "validations").rglob("*.html"), home / "docs/expectations/suite.html"]


def test_no_element_of_a_page_comes_from_a_row_or_a_suite(docs: Path) -> None:
    found = [*pages(docs), docs / "docs" / "index.html"]
    assert len(found) == 3
    assert [element for page in found for element in Seen(page).planted()] == []
    assert not [page for page in found if SCRIPT in page.read_text() or IMAGE in page.read_text()]


def test_a_page_shows_the_values_as_they_are_in_the_rows(docs: Path) -> None:
    texts = "".join(Seen(pages(docs)[0]).texts)
    assert [value for value in HOSTILE if value not in texts] == []


def test_the_results_on_disk_hold_the_values_as_they_are(docs: Path) -> None:
    written = json.loads((docs / "runs" / "1" / "validation.json").read_text())
    assert set(written["results"][1]["result"]["partial_unexpected_list"]) == set(HOSTILE)
    (stored,) = (docs / "docs" / "results").rglob("*.json")
    again = json.loads(stored.read_text())
    assert set(again["results"][1]["result"]["partial_unexpected_list"]) == set(HOSTILE)


def test_a_page_forbids_whatever_it_does_not_need(docs: Path) -> None:
    for page in pages(docs):
        head = dict(Seen(page).elements[2][1])
        assert head == {
            "http-equiv": "Content-Security-Policy",
            "content": "; ".join(DIRECTIVES),
        }


def test_the_policy_names_every_style_sheet_of_a_page(docs: Path) -> None:
    linked = {
        attributes["href"]
        for page in pages(docs)
        for attributes in (dict(attrs) for tag, attrs in Seen(page).elements if tag == "link")
        if attributes["rel"] == "stylesheet"
    }
    assert linked == set(STYLE_SHEETS)
