"""New code is tried on a pipeline's state under another name, and its table is left alone."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path

from typer.testing import CliRunner

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.windowed_words import COUNTS, at, windows
from tests.support.table_reader import tree
from tidemill.cli.app import app

NEW = "words_trial"
# Counts each window's rows twice, the rows that the state holds already among them.
DOUBLED = COUNTS.replace(".count()", '.count().withColumn("count", F.col("count") * 2)')


def test_a_fork_gives_the_rows_that_the_original_would_publish_next_with_the_new_code(
    tmp_path: Path, spark: object
) -> None:
    assert_new_code_on_its_state(windows(tmp_path / "flow"))


def assert_new_code_on_its_state(flow: JsonPipeline) -> None:
    """A fork of a pipeline without a past has the rows of new code, and the original its own."""
    flow.arrive("events", "1", [at("12:01"), at("12:05")])
    flow.arrive("events", "2", [at("12:16"), at("12:31")])
    flow.go("first")
    before, books = counts(flow), tree(flow.layout.journal) | tree(flow.layout.table)
    words = ["checkpoint", "fork", flow.name, "--as", NEW, "--reason", "twice", "--apply", "--json"]
    answer = CliRunner().invoke(app, words, env=flow.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["fork"] == NEW
    assert tree(flow.layout.journal) | tree(flow.layout.table) == books

    trial = copy(flow)
    trial.name = NEW
    trial.write(transform=DOUBLED)
    flow.arrive("events", "3", [at("12:33"), at("13:10")])
    trial.go("trial")
    assert counts(flow) == before
    assert tree(flow.layout.journal) | tree(flow.layout.table) == books

    flow.write(transform=DOUBLED)
    flow.go("second")
    after = counts(flow)
    assert sorted(before + counts(trial)) == after
    # A row of the state that was there at the fork, and one that came after it.
    assert max(counts(trial)) == 4


def counts(flow: JsonPipeline) -> list[int]:
    return sorted(row[-2] for row in flow.published("window", "word", "count", "day"))
