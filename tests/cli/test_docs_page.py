"""`tidemill docs` names the Data Docs page of a verdict, and opens it where that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, rows
from tests.support.memory_buckets import new_root_in_memory
from tidemill.cli import docs
from tidemill.contract.errors import ExitCode
from tidemill.increments.judgement import Judgement


def judged(history: History, *ids: int) -> Path:
    """An increment more, with the page of its verdict."""
    history.batch(rows(*ids))
    number = history.seal().increment
    page = history.layout.docs / f"{number}.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("<html>")
    judgement = Judgement(
        engine="in_process", suite="s", suite_hash="h", rows=1, success=True, reason=None, docs=page
    )
    history.judge(number, judgement=judgement)
    return page


def test_the_newest_page_is_named_or_that_of_an_increment(
    history: History, tidemill: Tidemill
) -> None:
    first, second = judged(history, 1), judged(history, 2)
    assert tidemill("docs", "orders").stdout == f"{second}\n"
    assert tidemill("docs", "orders", "--increment", "1", "--json").json == {
        "pipeline": "orders",
        "increment": 1,
        "state": "passed",
        "page": str(first),
    }


def test_a_page_that_was_removed_is_passed_over(history: History, tidemill: Tidemill) -> None:
    first, second = judged(history, 1), judged(history, 2)
    second.unlink()
    assert tidemill("docs", "orders").stdout == f"{first}\n"


def test_the_browser_opens_it_where_that_is_asked_for(
    history: History, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(docs, "launch", opened.append)
    page = judged(history, 1)
    tidemill("docs", "orders")
    assert opened == []
    tidemill("docs", "orders", "--open")
    assert opened == [page.as_uri()]


def test_a_page_in_an_object_store_is_copied_for_the_browser(
    tmp_path: Path, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path / "home", bucket=new_root_in_memory(monkeypatch))
    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    opened: list[str] = []
    monkeypatch.setattr(docs, "launch", opened.append)
    monkeypatch.setattr(docs, "mkdtemp", lambda prefix: str(tmp_path))
    page = judged(history, 1)
    assert tidemill("docs", "orders", "--open").stdout == f"{page}\n"
    assert opened == [(tmp_path / page.name).as_uri()]
    assert (tmp_path / page.name).read_text() == "<html>"


@pytest.mark.remedy("NoDocsPage")
@pytest.mark.parametrize("options", [(), ("--increment", "1")])
def test_an_increment_without_a_page_is_told(
    history: History, tidemill: Tidemill, options: tuple[str, ...]
) -> None:
    history.batch(rows(1))
    history.seal()
    answer = tidemill("docs", "orders", *options, "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoDocsPage")
    assert tidemill("history", "orders", "--json").json["total"] == 1
