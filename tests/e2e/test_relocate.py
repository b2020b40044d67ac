"""A root is moved between two runs, and copied: the stream goes on where it was, in both places."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tests.support.pipelines.windowed_words import at, windows
from tidemill.cli.app import app
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPACTS = {
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
}


@pytest.fixture
def compacts_often(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Settings of the shared session, for one test."""
    yield COMPACTS
    for name in COMPACTS:
        spark.conf.unset(name)


class Placed(RunnablePipeline):
    """A pipeline whose root may be in another folder than its project."""

    place: Path | None = None

    @property
    def root(self) -> Path:
        return self.place or super().root


class PlacedOrders(Placed, OrdersPipeline):
    """Orders, row by row."""


class PlacedWindows(Placed, JsonPipeline):
    """Words counted in windows, which keeps state."""


def relocate(mill: Placed, *options: str) -> None:
    words = ["relocate", mill.name, *options, "--apply"]
    answer = CliRunner().invoke(app, words, env=mill.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output


def inputs_read(mill: OrdersPipeline) -> list[str]:
    """The names of the input files of all batches, each as often as it was read."""
    batches = Ledger(mill.layout, FIRST_GENERATION).batches()
    return sorted(Path(one.path).name for batch in batches for one in batch.inputs)


def names(days: range) -> list[str]:
    return [f"day-{day:02d}.csv" for day in days]


def test_a_root_that_was_moved_and_a_copy_go_on_with_the_stream(
    tmp_path: Path, compacts_often: dict[str, str]
) -> None:
    mill = PlacedOrders(tmp_path / "mill")
    mill.spec["spark"] = {"conf": compacts_often}
    mill.__post_init__()
    for run, days in (("first", range(1, 4)), ("second", range(4, 6))):
        mill.deliver_days(days)
        assert mill.run(run)["publish"].outcome is Outcome.DONE
    published, rejected = mill.published(), mill.rejected()

    here = tmp_path / "other disk" / "root"
    here.parent.mkdir()
    mill.place = Path(shutil.move(mill.root, here))
    mill.deliver_days(range(6, 9))
    refused = mill.run("third")["doctor"]
    assert (refused.outcome, refused.error and refused.error["code"]) == (
        Outcome.REFUSED,
        "SinkElsewhere",
    )
    relocate(mill)
    assert (mill.published(), mill.rejected()) == (published, rejected)

    relocate(mill, "--copy-to", str(tmp_path / "copy"))
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    mill.assert_whole()
    assert inputs_read(mill) == names(range(1, 9))

    mill.place = tmp_path / "copy"
    assert (mill.published(), mill.rejected()) == (published, rejected)
    mill.deliver_days(range(9, 10))
    assert mill.run("third")["publish"].outcome is Outcome.DONE
    mill.assert_whole()
    assert inputs_read(mill) == names(range(1, 10))
    log = mill.sink / "_spark_metadata"
    assert [*log.glob("*.compact")]
    assert not [file for file in log.glob("[0-9]*") if str(here) in file.read_text()]


def test_the_state_of_a_query_goes_on_at_the_new_place(tmp_path: Path, spark: object) -> None:
    flow = PlacedWindows(**vars(windows(tmp_path / "flow")))
    flow.arrive("events", "1", [at("12:01"), at("12:05")])
    flow.go("first")
    flow.place = Path(shutil.move(flow.root, tmp_path / "moved"))
    relocate(flow)
    flow.arrive("events", "2", [at("12:06"), at("12:31")])
    flow.go("second")
    assert [row[-2] for row in flow.published("window", "word", "count", "day")] == [3]
