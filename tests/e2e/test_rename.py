"""A pipeline gets another name between two runs: its state goes on, and its old name is refused."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import at, windows
from tidemill.cli.app import app

NEW = "counted_words"


def test_the_state_of_a_query_goes_on_under_another_name(tmp_path: Path, spark: object) -> None:
    flow = windows(tmp_path / "flow")
    flow.arrive("events", "1", [at("12:01"), at("12:05")])
    flow.go("first")
    words = ["rename", flow.name, NEW, "--apply"]
    answer = CliRunner().invoke(app, words, env=flow.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output

    renamed = JsonPipeline(**{**vars(flow), "name": NEW})
    renamed.arrive("events", "2", [at("12:06"), at("12:31")])
    renamed.go("second")

    assert [row[-2] for row in renamed.published("window", "word", "count", "day")] == [3]
    refused = flow.run("third")["doctor"].error
    assert refused is not None
    assert refused["code"] == "PipelineRenamed"
