"""Data docs: linked, bounded, and never in the way of a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.parquet_sink import expect, sample_of, suite_of
from tidemill.gate import data_docs
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.increments.judgement import Judgement


def judged(folder: Path, run_name: str) -> Judgement:
    return judge(
        sample_of({"quantity": [1, -2]}, folder),
        suite_of(folder, expect("column_values_to_be_between", column="quantity", min_value=1)),
        InProcess(),
        run_name=run_name,
        docs=folder / "docs",
        results=folder / "runs" / "1",
        samples=20,
    )


@pytest.mark.parametrize(
    "run_name",
    ["scheduled__2026-03-01T00:00:00+00:00", "manual/../..", "a run's #1 profiling? 100 %"],
)
def test_the_page_of_a_run_exists_and_the_index_links_to_it(tmp_path: Path, run_name: str) -> None:
    page = judged(tmp_path, run_name).docs
    assert page is not None
    assert page.is_relative_to(tmp_path / "docs")
    assert "quantity" in page.read_text()
    index = (tmp_path / "docs" / "index.html").read_text()
    assert "validations/suite/" in index
    assert "expectations/suite.html" in index


def test_the_result_is_great_expectations_own_in_the_words_of_the_suite(tmp_path: Path) -> None:
    result = judged(tmp_path, "run").result
    assert result == tmp_path / "runs" / "1" / "validation.json"
    document = json.loads(result.read_text())
    assert document["statistics"]["unsuccessful_expectations"] == 1
    (one,) = document["results"]
    assert one["expectation_config"]["kwargs"] == {"column": "quantity", "min_value": 1}
    assert one["result"]["partial_unexpected_list"] == [-2]


def test_old_pages_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_docs, "KEPT_PAGES", 2)
    pages = [judged(tmp_path, f"run-{number}").docs for number in range(4)]
    assert [page is not None and page.exists() for page in pages] == [False, False, True, True]
    assert len(list((tmp_path / "docs" / "results").rglob("*.json"))) == 2
    index = (tmp_path / "docs" / "index.html").read_text()
    assert ["run-1" in index, "run-2" in index] == [False, True]


def test_docs_that_cannot_be_written_do_not_change_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("in the way")
    judgement = judged(tmp_path, "run")
    assert (judgement.success, judgement.docs) == (False, None)
    assert judgement.result is not None
