"""The objects of a root are moved between two runs, copied and renamed: the stream goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.e2e.test_object_root import assert_done
from tests.e2e.test_relocate import compacts_often, inputs_read, names
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.pipeline_folder import RunnablePipeline
from tests.support.pipelines.windowed_words import at, windows
from tidemill.cli.app import app
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.storage.folders import rename_folder

__all__ = ["compacts_often"]


def typed(mill: RunnablePipeline, *words: str) -> None:
    answer = CliRunner().invoke(app, [*words, "--apply"], env=mill.environ, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output


def give_name(mill: OrdersPipeline, name: str) -> None:
    """What a person does besides: spec, transform and suite have the name."""
    for folder in ("dags/specs", "spark_jobs/transforms", "expectations/suites"):
        for file in (mill.home / "project" / folder).glob(f"{mill.name}.*"):
            file.rename(file.with_stem(name))
    suite = mill.home / "project" / "expectations" / "suites" / f"{name}.json"
    suite.write_text(json.dumps({**json.loads(suite.read_text()), "name": name}))
    mill.name = name


def test_a_root_that_was_moved_a_copy_and_a_renamed_pipeline_go_on_with_the_stream(
    tmp_path: Path,
    s3: S3,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    compacts_often: dict[str, str],
) -> None:
    mill = OrdersPipeline(tmp_path)
    mill.spec["spark"] = {"conf": compacts_often}
    mill.__post_init__()
    in_bucket(mill, s3, spark, monkeypatch)
    for run, day in (("first", range(1, 4)), ("second", range(4, 6))):
        mill.deliver_days(day)
        assert_done(mill.run(run))
    published, rejected = mill.published(), mill.rejected()
    was = mill.root
    rename_folder(was, was.with_name("moved"))
    mill.url = str(was.with_name("moved"))
    typed(mill, "relocate", "--all")
    assert (mill.published(), mill.rejected()) == (published, rejected)
    typed(mill, "relocate", mill.name, "--copy-to", str(was.with_name("copy")))
    mill.deliver_days(range(6, 9))
    assert_done(mill.run("third"))
    mill.assert_whole()
    assert inputs_read(mill) == names(range(1, 9))

    typed(mill, "rename", mill.name, "sales")
    give_name(mill, "sales")
    mill.deliver_days(range(9, 10))
    assert_done(mill.run("fourth"))
    mill.assert_whole()
    assert inputs_read(mill) == names(range(1, 10))
    log = mill.sink / "_spark_metadata"
    assert [*log.glob("*.compact")]
    assert not [file for file in log.glob("[0-9]*") if "/moved/orders/" in file.read_text()]

    give_name(mill, "orders")
    mill.url = str(was.with_name("copy"))
    assert (mill.published(), mill.rejected()) == (published, rejected)
    assert_done(mill.run("third"))
    mill.assert_whole()
    assert inputs_read(mill) == names(range(1, 10))


def test_the_state_of_a_query_goes_on_at_the_new_place(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = in_bucket(windows(tmp_path), s3, spark, monkeypatch)
    flow.arrive("events", "1", [at("12:01"), at("12:05")])
    flow.go("first")
    assert isinstance(flow.root, ObjectPath)
    moved = flow.root.with_name("moved")
    rename_folder(flow.root, moved)
    flow.url = str(moved)
    typed(flow, "relocate", flow.name)
    flow.arrive("events", "2", [at("12:06"), at("12:31")])
    flow.go("second")
    assert [row[-2] for row in flow.published("window", "word", "count", "day")] == [3]
