"""Runs of every kind on a root in an object store; what they publish is counted independently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.e2e.recompute.test_fork import MENDED, SUITE, counted, fed, published, without_wrong
from tests.e2e.test_named_fork import assert_new_code_on_its_state
from tests.e2e.test_rollover import CASES, FILES, flow_of, run_with_files
from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.kafka import Broker
from tests.servers.s3 import S3
from tests.support.bucket_pipeline import in_bucket
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tests.support.pipelines.pipeline_folder import PipelineFolder
from tests.support.pipelines.recompute_requests import ask
from tests.support.pipelines.sales_pipeline import DDL, SPEC, TRANSFORM, row, sale
from tests.support.pipelines.sales_pipeline import SUITE as AMOUNTS
from tests.support.pipelines.windowed_words import at, windows
from tidemill.cli.app import app
from tidemill.contract.errors import ExitCode
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.report import Outcome
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.late_rows import LateLog
from tidemill.steps.ingest_group import ingest_group

AnyPipeline = TypeVar("AnyPipeline", bound=PipelineFolder)
MoveIn = Callable[[Any], Any]
EVERY = ("GET", "HEAD", "PUT", "POST", "DELETE")


@pytest.fixture
def move_in(s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> MoveIn:
    """Gives a pipeline a root in an empty bucket, which commands find too."""

    def move(pipeline: Any) -> Any:
        in_bucket(pipeline, s3, spark, monkeypatch)
        for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
            monkeypatch.setenv(name, pipeline.environ[name])
        return pipeline

    return move


def every_seventh(number: int) -> Fault | None:
    kinds: list[Fault] = ["broken", "lost", "busy"]
    return kinds[number // 7 % 3] if number % 7 == 3 else None


def tidemill(*words: str) -> tuple[int, Any]:
    found = CliRunner().invoke(app, [*words, "--json"])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.output
    return found.exit_code, json.loads(found.stdout)


@pytest.mark.parametrize("case", ["complete", "window", "ordered"])
def test_state_and_rows_go_on_over_a_rollover(tmp_path: Path, move_in: MoveIn, case: str) -> None:
    transform, spec, columns, expected = CASES[case]
    flow = move_in(flow_of(tmp_path, transform, spec))
    for run in range(2):
        run_with_files(flow, run)
        assert flow.published(*columns) == expected(run * FILES + FILES)
    assert {one.kind for one in read_takeovers(flow.layout.home)} == {"rollover"}


def test_new_code_is_tried_on_a_state_in_the_bucket(tmp_path: Path, move_in: MoveIn) -> None:
    assert_new_code_on_its_state(move_in(windows(tmp_path)))


def test_what_a_topic_holds_is_published_once(
    tmp_path: Path, broker: Broker, move_in: MoveIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = KafkaPipeline(tmp_path, broker, source={"maxOffsetsPerTrigger": 8})
    name = "AIRFLOW_CONN_TIDEMILL_KAFKA"
    monkeypatch.setenv(name, mill.environ[name])
    move_in(mill)
    mill.produce_orders(0, 20)
    mill.produce([None])
    assert mill.run("first")["publish"].outcome is Outcome.DONE
    mill.produce_orders(20, 5)
    assert mill.run("second")["publish"].outcome is Outcome.DONE
    assert mill.run("third")["doctor"].outcome is Outcome.SKIPPED
    mill.assert_orders(25)
    assert len(mill.rejected_rows()) == 1


def test_a_held_tail_is_computed_again_and_then_everything(tmp_path: Path, move_in: MoveIn) -> None:
    flow = windows(tmp_path)
    flow.suite = SUITE
    flow.write()
    move_in(flow)
    files = fed(flow, range(0, 20, 5))
    flow.go("first")
    flow.arrive("events", "m018 late", [at("11:50")])
    files += fed(flow, range(20, 35, 5), at("12:12", "wrong"))
    assert flow.run("second")["gate"].outcome is not Outcome.DONE
    files += fed(flow, range(35, 40, 5))
    flow.run("third")
    # Nothing goes out past the held one.
    assert published(flow) == counted(files[:4], "12:00")
    flow.write(transform=MENDED)
    assert ask(flow, "redo", "redo")["publish"].outcome is Outcome.DONE
    assert current(flow.layout) == "live-0002"
    assert published(flow) == counted(without_wrong(files), "12:20")
    assert sum(found.rows or 0 for found in LateLog(flow.layout, "live-0002").read()) == 1
    # Other partitions: Delta itself cannot replace them on a snapshot.
    flow.write(output={"partition_by": {"month": "date_format(window.start, 'yyyy-MM')"}})
    assert ask(flow, "rebuild", "rebuild")["publish"].outcome is Outcome.DONE
    assert current(flow.layout) == "live-0003"
    assert {month for (month,) in flow.published("month")} == {"2026-03"}
    assert published(flow) == counted(without_wrong(files), "12:20")
    files += fed(flow, range(40, 55, 5))
    flow.go("later")
    assert published(flow) == counted(without_wrong(files), "12:40")


def test_people_decide_about_held_and_rejected_rows(tmp_path: Path, move_in: MoveIn) -> None:
    transform = TRANSFORM.format(factor=1)
    flow = move_in(JsonPipeline(tmp_path, {"sales": DDL}, SPEC, transform, suite=AMOUNTS))
    flow.arrive("sales", "1", [sale("a", 1, 10), sale("b", 1, -1), sale("c", 2, 20)])
    flow.go("first")
    code, docs = tidemill("docs", flow.name)
    assert code == ExitCode.DONE
    assert path_of(docs["page"]).is_relative_to(flow.layout.docs)
    for name, amount in (("e", 5000), ("f", 6000)):
        flow.arrive("sales", name, [sale(name, 3, amount)])
        assert flow.run(name)["gate"].outcome is not Outcome.DONE
    flow.arrive("sales", "g", [sale("g", 2, 30)])
    flow.run("behind")
    why = ("--by", "ada", "--reason", "known")
    assert tidemill("release", flow.name, "2", *why)[0] == ExitCode.DONE
    assert tidemill("reject", flow.name, "3", *why)[0] == ExitCode.DONE
    flow.run("after")
    there = [row("a", 1, 10), row("c", 2, 20), row("e", 3, 5000), row("g", 2, 30)]
    assert flow.published() == there
    # The rule is gone, and rows that it rejected are computed again.
    flow.write(row_rules={})
    assert tidemill("replay", flow.name)[0] == ExitCode.DONE
    assert flow.published() == sorted([*there, row("b", 1, -1)])
    # A newer suite finds the released one among the published ones.
    code, report = tidemill("requalify", flow.name)
    assert code == ExitCode.HELD
    assert "held" in [one["outcome"] for one in report["found"]]


def test_a_group_shares_an_application(tmp_path: Path, move_in: MoveIn) -> None:
    columns = {"events": "at timestamp, word string"}
    time = {"event_time": {"column": "at"}}
    same = "def transform(events):\n    return events\n"
    counts = "def transform(events):\n    return events.groupBy('word').count()\n"
    update = {**time, "output": {"mode": "update", "keys": ["word"]}}
    plain = move_in(JsonPipeline(tmp_path / "a", columns, time, same, name="plain"))
    counting = JsonPipeline(tmp_path / "b", columns, update, counts, name="counts")
    counting.url = plain.url
    for run in ("first", "second"):
        for flow in (plain, counting):
            flow.arrive("events", run, [{"at": "2026-03-01T00:00:00Z", "word": "tide"}])
        reports = ingest_group([flow.context(run) for flow in (plain, counting)])
        assert [report.outcome for report in reports] == [Outcome.DONE] * 2
        for flow in (plain, counting):
            assert flow.step("gate", run).outcome is Outcome.DONE
            assert flow.step("publish", run).outcome is Outcome.DONE
    assert plain.published("word") == [("tide",)] * 2
    assert counting.published("word", "count") == [("tide", 2)]


def test_a_whole_run_over_a_network_that_fails_loses_and_doubles_nothing(
    tmp_path: Path, s3: S3, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FlakyHttp(s3.endpoint, every_seventh, methods=EVERY).up_apart() as proxy:
        mill = in_bucket(OrdersPipeline(tmp_path), s3, spark, monkeypatch, proxy.endpoint)
        for day in (1, 3):
            mill.deliver_days(range(day, day + 2), rows=3)
            for again in range(4):
                ended = [*mill.run(f"day-{day}").values()][-1]
                if ended.outcome is Outcome.DONE:
                    break
                # What a network does is never a reason to ask a person.
                assert ended.transient, (again, ended.error)
            assert ended.outcome is Outcome.DONE
            mill.assert_whole()
    assert proxy.requests > 100
