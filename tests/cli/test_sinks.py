"""`check` and `preview` where rows go to a sink of Spark's own: no gate, and so no suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.support.pipelines.ungated_pipeline import COUNTS, IDENTITY, NAME, UngatedPipeline
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UngatedPipeline:
    pipeline = UngatedPipeline(tmp_path, {"kind": "console"})
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS", "TIDEMILL_MASTER"):
        monkeypatch.setenv(name, pipeline.environ[name])
    return pipeline


FUNCTION = "def foreach(row):\n    pass\n"
WRITER = "class ForeachWriter:\n    def process(self, row):\n        pass\n"
BATCH = "def foreach_batch(rows, batch_id):\n    pass\n"


@pytest.mark.parametrize(
    ("kind", "code", "problems"),
    [
        ("console", "", 0),
        ("foreach", "", 1),
        ("foreach", FUNCTION, 0),
        ("foreach", WRITER, 0),
        ("foreach", "from elsewhere import *\n", 0),
        ("foreach_batch", FUNCTION, 1),
        ("foreach_batch", BATCH, 0),
    ],
)
def test_the_code_that_a_sink_calls_is_looked_for_and_no_suite(
    words: UngatedPipeline, tidemill: Tidemill, kind: str, code: str, problems: int
) -> None:
    words.sink, words.code = {"kind": kind}, IDENTITY + code
    words.write()
    answer = tidemill("check", NAME, "--json")
    assert len(answer.json["problems"]) == problems
    assert all("spark_jobs/transforms" in one["file"] for one in answer.json["problems"])
    assert (answer.exit_code == ExitCode.DONE) is (problems == 0)


def test_a_preview_runs_any_transform_and_ends_without_a_gate(
    words: UngatedPipeline, tidemill: Tidemill, spark: Any
) -> None:
    words.code = COUNTS
    words.write()
    words.deliver("a.csv", "mill,1", "mill,2", "bad,x")
    answer = tidemill("preview", NAME, "--input", str(words.input / "a.csv"), "--json")
    assert answer.exit_code == ExitCode.DONE
    assert (answer.json["good"], answer.json["gate"]) == ([{"word": "mill", "count": 2}], None)
    assert [row["reason"] for row in answer.json["refused"]] == ["malformed"]
