"""Data docs: linked, bounded, and never in the way of a verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from jinja2 import Environment

from tests.support.memory_buckets import new_root_in_memory
from tests.support.parquet_sink import expect, sample_of, suite_of
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.errors import ObjectStoreUnreachable
from tidemill.contract.objects.found_object import FoundObject
from tidemill.contract.objects.object_path import path_of
from tidemill.gate import data_docs
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.increments.judgement import Judgement


@dataclass(frozen=True)
class Pipeline:
    """A folder on a disk for rows and suite, and a root that docs and results go below."""

    folder: Path
    root: Path

    def judged(self, run_name: str) -> Judgement:
        suite = expect("column_values_to_be_between", column="quantity", min_value=1)
        return judge(
            sample_of({"quantity": [1, -2]}, self.folder),
            suite_of(self.folder, suite),
            InProcess(),
            run_name=run_name,
            docs=self.docs,
            results=self.root / "runs" / "1",
            samples=20,
        )

    @property
    def docs(self) -> Path:
        return self.root / "docs"


@pytest.fixture(params=["disk", "object store"])
def pipeline(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Pipeline:
    on_disk = request.param == "disk"
    return Pipeline(tmp_path, tmp_path if on_disk else path_of(new_root_in_memory(monkeypatch)))


@pytest.mark.parametrize(
    "run_name",
    ["scheduled__2026-03-01T00:00:00+00:00", "manual/../..", "a run's #1 profiling? 100 %"],
)
def test_the_page_of_a_run_exists_and_the_index_links_to_it(
    pipeline: Pipeline, run_name: str
) -> None:
    page = pipeline.judged(run_name).docs
    assert page is not None
    assert page.is_relative_to(pipeline.docs)
    assert "quantity" in page.read_text()
    index = (pipeline.docs / "index.html").read_text()
    assert "validations/suite/" in index
    assert "expectations/suite.html" in index


def test_the_result_is_great_expectations_own_in_the_words_of_the_suite(pipeline: Pipeline) -> None:
    result = pipeline.judged("run").result
    assert result == pipeline.root / "runs" / "1" / "validation.json"
    document = json.loads(result.read_text())
    assert document["statistics"]["unsuccessful_expectations"] == 1
    (one,) = document["results"]
    assert one["expectation_config"]["kwargs"] == {"column": "quantity", "min_value": 1}
    assert one["result"]["partial_unexpected_list"] == [-2]


def test_old_pages_go(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_docs, "KEPT_PAGES", 2)
    pages = [pipeline.judged(f"run-{number}").docs for number in range(4)]
    assert [page is not None and page.exists() for page in pages] == [False, False, True, True]
    assert len(list((pipeline.docs / "results").rglob("*.json"))) == 2
    index = (pipeline.docs / "index.html").read_text()
    assert ["run-1" in index, "run-2" in index] == [False, True]


def test_the_second_page_of_a_process_compiles_no_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Pipeline(tmp_path, tmp_path / name) for name in ("first", "second"))
    assert first.judged("run").docs is not None
    compiled: list[object] = []
    monkeypatch.setattr(Environment, "compile", lambda _self, source, *_: compiled.append(source))

    again = second.judged("run").docs

    assert again is not None
    assert "quantity" in again.read_text()
    assert compiled == []


def test_docs_that_cannot_be_written_do_not_change_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("in the way")
    judgement = Pipeline(tmp_path, tmp_path).judged("run")
    assert (judgement.success, judgement.docs) == (False, None)
    assert judgement.result is not None


def test_a_store_that_does_not_answer_does_not_change_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> list[FoundObject]:
        raise ObjectStoreUnreachable("down", remedy="Wait.")

    monkeypatch.setattr(ObjectClient, "objects", unreachable)
    judgement = Pipeline(tmp_path, path_of(new_root_in_memory(monkeypatch))).judged("run")
    assert (judgement.success, judgement.docs) == (False, None)
    assert judgement.result is not None
