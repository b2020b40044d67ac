"""`tidemill status` says from files alone where pipelines stand."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode
from tidemill.spec.catalog import spec_files
from tidemill.storage import documents
from tidemill.storage.lease import Holder, hold
from tidemill.storage.processes import this_process

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.usefixtures("history")
def test_a_pipeline_that_never_ran_has_nothing_of_everything(tidemill: Tidemill) -> None:
    answer = tidemill("status", "orders", "--json")

    assert answer.exit_code == ExitCode.DONE
    found = answer.pipeline
    assert found.pop("standing")["state"] == "never run"
    assert found == {
        "pipeline": "orders",
        "error": None,
        "generation": "live-0001",
        "building": [],
        "pipeline_class": None,
        "batches": 0,
        "unsealed": 0,
        "increments": [],
        "table": None,
        "rejected": None,
        "late": 0,
        "orphans": {"files": 0, "bytes": 0},
        "due": [],
        "chain": {"upstream": [], "downstream": []},
        "lagging": {},
        "last_run": None,
        "writer": None,
        "given_up": None,
    }


def test_a_target_that_lags_is_named(tidemill: Tidemill, history: History) -> None:
    target = "{kind: postgres, conn_id: warehouse, table: orders}"
    history.write_spec(more=f"publish: [{{kind: delta}}, {target}]")
    for number in (1, 2):
        history.increment(rows(number))
    # There is no such connection.
    history.publish()
    found = tidemill("status", "orders", "--json").pipeline
    assert found["lagging"] == {"postgres.warehouse.orders": 2}
    assert [one["state"] for one in found["increments"]] == ["published", "published"]
    assert "postgres.warehouse.orders: 2 increments behind" in tidemill("status", "orders").stdout


def test_files_that_no_log_names_are_counted(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1))
    (history.sink / "part-00000-dead.snappy.parquet").write_bytes(b"PAR1")
    assert tidemill("status", "orders", "--json").pipeline["orphans"] == {"files": 1, "bytes": 4}
    assert "orphans: 1 file of 4 bytes" in tidemill("status", "orders").stdout


def test_a_spec_that_does_not_load_hides_nothing(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.project.spec("orders").write_text("publish: [")
    found = tidemill("status", "orders", "--json").pipeline
    assert (found["table"]["rows"], found["lagging"]) == (1, {})


def test_every_increment_says_where_it_stands(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()
    history.batch(rows(3))
    history.batch(rows(4))
    history.judge(history.seal().increment, "held", NOON)
    history.increment(rows(5))
    history.batch(rows(6))
    history.seal()
    history.batch(rows(7))

    found = tidemill("status", "orders", "--json").pipeline

    assert (found["pipeline_class"], found["batches"], found["unsealed"]) == ("map", 6, 1)
    keys = ("increment", "first", "last", "rows", "rejected", "state", "verdict", "behind")
    assert [tuple(i[key] for key in keys) for i in found["increments"]] == [
        (1, 0, 0, 2, 1, "published", "passed", None),
        (2, 1, 2, 2, 0, "held", "held", None),
        (3, 3, 3, 1, 0, "passed", "passed", 2),
        (4, 4, 4, 1, 0, "sealed", None, 2),
    ]
    assert [i["version"] for i in found["increments"]] == [0, None, None, None]
    assert found["increments"][1]["reasons"] == ["bad"]
    assert found["increments"][1]["since"] == "2026-03-01T12:00:00Z"
    assert found["table"] == {"version": 0, "files": 1, "rows": 2}
    assert found["rejected"] == {"version": 0, "files": 1, "rows": 1}


def test_the_last_run_is_the_one_that_reported_last(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1))
    history.publish("z-first")
    history.publish("a-second")

    last = tidemill("status", "orders", "--json").pipeline["last_run"]

    assert (last["run_id"], last["step"], last["outcome"]) == ("a-second", "publish", "done")


def test_whoever_writes_is_named(tidemill: Tidemill, history: History) -> None:
    with hold(history.layout.lease, step="ingest", run_id="r7"):
        writer = tidemill("status", "orders", "--json").pipeline["writer"]

    assert (writer["step"], writer["run_id"], writer["pid"]) == ("ingest", "r7", os.getpid())
    assert writer["gone"] is False
    assert tidemill("status", "orders", "--json").pipeline["writer"] is None


def test_a_writer_that_died_is_told_from_one_at_work(tidemill: Tidemill, history: History) -> None:
    another_life = this_process().model_copy(update={"started": 1.0})
    holder = Holder(
        epoch=1,
        step="gate",
        run_id="r1",
        process=another_life,
        launcher=None,
        since=datetime.now(UTC),
    )
    documents.put_if_absent(history.layout.lease / "000001.json", holder)

    assert tidemill("status", "orders", "--json").pipeline["writer"]["gone"] is True
    assert "gone" in tidemill("status", "orders").stdout


def test_without_a_name_every_pipeline_of_one_s_own_has_a_line_and_each_example_that_ran(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1), outcome="held")
    (history.layout.root / "shop_orders").mkdir()

    found = {one["pipeline"]: one for one in tidemill("status", "--json").json["pipelines"]}

    assert {*found} == {"orders", "shop_orders"}
    assert found["orders"]["state"] == "held"
    assert found["shop_orders"]["state"] == "never run"
    lines = tidemill("status").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("orders")] == ["orders"]
    assert "held" in next(line for line in lines if line.startswith("orders"))

    monkeypatch.delenv("TIDEMILL_PROJECTS")
    examples = {one["pipeline"] for one in tidemill("status", "--json").json["pipelines"]}
    assert examples == {one.name for one in spec_files()} > {"shop_orders"}


def test_the_damage_of_one_pipeline_does_not_hide_the_others(
    tidemill: Tidemill, history: History
) -> None:
    history.batch(rows(1))
    history.seal()
    (history.layout.increments / "000001" / "sealed.json").write_text("{")
    (history.layout.root / "shop_orders").mkdir()

    every = tidemill("status", "--json")
    one = tidemill("status", "orders", "--json")

    assert every.exit_code == ExitCode.DONE
    errors = {
        found["pipeline"]: (found["error"] or {}).get("code") for found in every.json["pipelines"]
    }
    assert errors == {**dict.fromkeys(errors), "orders": "TornDocument"}
    assert len(errors) > 1
    assert (one.exit_code, one.pipeline["error"]["code"]) == (ExitCode.REFUSED, "TornDocument")


def test_people_read_state_and_reasons(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()
    history.batch(rows(3))
    history.judge(history.seal().increment, "held", NOON)

    shown = tidemill("status", "orders").stdout

    assert "version 0, 2 rows in 1 file, 1 rejected" in shown
    assert "000001\t0\t2\t1\tpublished in version 0" in shown
    assert "held since 2026-03-01 12:00 UTC" in shown
    assert "bad" in shown


def test_neither_spark_nor_great_expectations_nor_pandas_is_loaded(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    program = (
        "import sys; from tidemill.cli.app import app; app(['status'], standalone_mode=False);"
        "print(sorted({'pyspark', 'great_expectations', 'pandas', 'airflow'} & set(sys.modules)))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **history.environ},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "orders" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


def test_one_pipeline_stands_where_the_list_says(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()

    (listed,) = tidemill("status", "--json").json["pipelines"]
    found = tidemill("status", "orders", "--json").pipeline

    assert {**found["standing"], "chain": found["chain"]} == listed
    assert (listed["state"], listed["published"]["version"]) == ("fine", 0)
    assert listed["rows_of_days"][-1] == 2


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ("held,overdue,behind", ExitCode.HELD),
        ("overdue,behind", ExitCode.DONE),
        ("refused", ExitCode.DONE),
        ("never run, fine", ExitCode.DONE),
    ],
)
def test_monitoring_names_the_states_that_are_an_error(
    tidemill: Tidemill, history: History, fail_on: str, code: ExitCode
) -> None:
    history.increment(rows(1), outcome="held")
    for arguments in (["status"], ["status", "orders"]):
        assert tidemill(*arguments, "--fail-on", fail_on, "--json").exit_code == code


@pytest.mark.usefixtures("history")
def test_a_state_that_there_is_not_is_wrong_usage(tidemill: Tidemill) -> None:
    answer = tidemill("status", "--fail-on", "bad", "--json")
    assert (answer.exit_code, answer.json["data"]) == (ExitCode.USAGE, {"state": "bad"})


def test_a_name_that_no_pipeline_has_is_a_pipeline_with_an_error(
    tidemill: Tidemill, history: History
) -> None:
    answer = tidemill("status", "order", "--json")
    assert (answer.exit_code, answer.pipeline["pipeline"]) == (ExitCode.USAGE, "order")
    assert answer.pipeline["error"]["data"] == {"name": "order", "nearest": "orders"}
