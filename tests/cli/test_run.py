"""`tidemill run` is the four steps in order, in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Tidemill
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.orders_pipeline import OrdersPipeline
from tidemill.contract.errors import ExitCode

pytestmark = pytest.mark.usefixtures("spark")


def ends(answer: Answer) -> list[tuple[str, str]]:
    return [(report["step"], report["outcome"]) for report in answer.pipeline["reports"]]


def published(tidemill: Tidemill) -> list[str]:
    return sorted(row["id"] for row in tidemill("rows", "orders", "--json").json["rows"])


def test_a_held_increment_holds_back_the_next_until_it_is_released(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.deliver("1.csv", ["good 1,2,2026-03-01 10:00:00"])
    first = tidemill("run", "orders", "--run-id", "r1", "--json")
    mill.deliver("2.csv", ["bad 2,-2,2026-03-02 10:00:00"])
    second = tidemill("run", "orders", "--run-id", "r2", "--json")
    mill.deliver("3.csv", ["good 3,2,2026-03-03 10:00:00"])
    third = tidemill("run", "orders", "--run-id", "r3", "--json")
    idle = tidemill("run", "orders", "--json")

    assert first.exit_code == ExitCode.DONE
    assert ends(first) == [
        ("doctor", "done"),
        ("ingest", "done"),
        ("gate", "done"),
        ("publish", "done"),
    ]
    assert second.exit_code == ExitCode.HELD
    assert ends(second)[-1] == ("gate", "held")
    assert third.exit_code == ExitCode.HELD
    assert ends(third)[-1] == ("publish", "waiting")
    assert (idle.exit_code, ends(idle)) == (ExitCode.DONE, [("doctor", "skipped")])
    assert idle.json["run_id"].startswith("manual__")
    assert published(tidemill) == ["good 1"]

    tidemill("release", "orders", "2", "--reason", "refunds")
    fourth = tidemill("run", "orders", "--run-id", "r4")

    assert fourth.exit_code == ExitCode.DONE
    assert fourth.stdout.splitlines()[-1] == (
        "publish done: increment 000002 in version 1, increment 000003 in version 2"
    )
    assert published(tidemill) == ["bad 2", "good 1", "good 3"]


def test_running_an_old_run_again_judges_its_own_increment_again(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    mill.deliver("1.csv", ["odd,-2,2026-03-01 10:00:00"])
    held = tidemill("run", "orders", "--run-id", "r1", "--json")
    mill.suite.write_text(mill.suite.read_text().replace('"min_value": 1', '"min_value": -5'))

    again = tidemill("run", "orders", "--run-id", "r1", "--json")
    once_more = tidemill("run", "orders", "--run-id", "r1", "--json")

    assert held.exit_code == ExitCode.HELD
    assert (again.exit_code, ends(again)[-1]) == (ExitCode.DONE, ("publish", "done"))
    assert ends(once_more) == [("doctor", "skipped")]
    assert published(tidemill) == ["odd"]


def test_a_transform_that_fails_is_a_wrong_spec_and_names_its_line(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    path = mill.home / "project" / "spark_jobs" / "transforms" / "orders.py"
    path.write_text("def transform(rows):\n    return rows.drop(undefined)\n")
    mill.deliver("1.csv", ["a,2,2026-03-01 10:00:00"])

    answer = tidemill("run", "orders", "--json")

    assert answer.exit_code == ExitCode.USAGE
    error = answer.pipeline["error"]
    assert (error["code"], error["data"]["path"]) == ("SpecError", str(path))
    assert "line 2" in error["what"]


COLUMNS = "at timestamp, word string"
SAME = "def transform(rows):\n    return rows\n"
COUNTS = "def transform(rows):\n    return rows.groupBy('word').count()\n"
TORN = "def transform(rows):\n    return rows.selectExpr('CAST(word AS INT) AS number')\n"
TIME = {"event_time": {"column": "at"}}


@pytest.fixture
def flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, JsonPipeline]:
    """Three pipelines of one project; what each is to take in."""
    update = {**TIME, "output": {"mode": "update", "keys": ["word"]}}
    flows = {
        "plain": JsonPipeline(tmp_path, {"a": COLUMNS}, TIME, SAME, name="plain"),
        "counts": JsonPipeline(tmp_path, {"b": COLUMNS}, update, COUNTS, name="counts"),
        "torn": JsonPipeline(tmp_path, {"c": COLUMNS}, TIME, TORN, name="torn"),
    }
    for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(name, flows["plain"].environ[name])
    for flow in flows.values():
        (source,) = flow.sources
        flow.arrive(source, source, [{"at": "2026-03-01T00:00:00Z", "word": "tide"}])
    return flows


def test_several_pipelines_run_together_and_each_ends_for_itself(
    tidemill: Tidemill, flows: dict[str, JsonPipeline]
) -> None:
    answer = tidemill("run", *flows, "--json")

    ends = {one["pipeline"]: one["reports"][-1] for one in answer.json["pipelines"]}
    assert {name: (end["step"], end["outcome"]) for name, end in ends.items()} == {
        "plain": ("publish", "done"),
        "counts": ("publish", "done"),
        "torn": ("ingest", "failed"),
    }
    assert answer.exit_code == ExitCode.FAILED
    assert flows["plain"].published("word") == [("tide",)]
    assert flows["counts"].published("word", "count") == [("tide", 1)]

    flows["torn"].write(transform=SAME)
    again = tidemill("run", *flows, "--json")

    assert again.exit_code == ExitCode.DONE
    assert [one["reports"][-1]["outcome"] for one in again.json["pipelines"]] == [
        "skipped",
        "skipped",
        "done",
    ]
    assert flows["torn"].published("word") == [("tide",)]


def test_what_needs_another_spark_application_or_does_not_load_leaves_the_others_alone(
    tidemill: Tidemill, flows: dict[str, JsonPipeline]
) -> None:
    flows["counts"].write(spark={"conf": {"spark.executor.memory": "2g"}})
    answer = tidemill("run", "nowhere", "plain", "counts", "--json")

    assert answer.exit_code == ExitCode.USAGE
    nowhere, plain, counts = answer.json["pipelines"]
    assert nowhere["error"]["data"]["name"] == "nowhere"
    assert counts["error"]["data"]["field"] == "spark"
    assert {*nowhere} == {*plain} == {*counts}
    assert flows["plain"].published("word") == [("tide",)]
    assert flows["counts"].batches == []
