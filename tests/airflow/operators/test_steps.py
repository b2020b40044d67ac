"""The four tasks, each with a step of the tests' own behind it."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import error, leaving, report_of
from tests.support.spec_text import minimal
from tidemill.contract import handover
from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.ledger.run_kinds import Role
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.spec.pipeline import open_pipeline
from tidemill.storage.processes import LAUNCHER_VARIABLE, ProcessId, this_process
from tidemill.toolchain.engine_environment import APPLICATION
from tidemill.toolchain.spark_conf import QUICK_START, SMALL_BACKLOG_BYTES, THROUGHPUT
from tidemill_airflow.events import table_alias
from tidemill_airflow.operators.command import step_command
from tidemill_airflow.operators.ingest import IngestOperator
from tidemill_airflow.operators.spark_step import spark_conf
from tidemill_airflow.operators.steps import DoctorOperator, GateOperator, PublishOperator

RUN_ID = "manual__2026-03-01T00:00:00+00:00"
CONN_ID = "tidemill_spark"


@pytest.fixture
def context() -> Context:
    return context_of("manual", RUN_ID)


def doctor(layout: Layout, outcome: Outcome | None, **more: Any) -> DoctorOperator:
    operator = DoctorOperator(task_id="doctor", pipeline=NAME)
    report = report_of("doctor", outcome, **more) if outcome else None
    operator.command = leaving(layout.runs, report)
    return operator


def ingest() -> IngestOperator:
    return IngestOperator(task_id="ingest", pipeline=NAME, conn_id=CONN_ID)


def gate(layout: Layout, outcome: Outcome) -> GateOperator:
    operator = GateOperator(task_id="gate", pipeline=NAME, conn_id=CONN_ID)
    operator.command = leaving(layout.runs, report_of("gate", outcome))
    return operator


def test_a_doctor_that_found_nothing_to_do_skips_the_run(layout: Layout, context: Context) -> None:
    with pytest.raises(AirflowSkipException, match="nothing new since the last run"):
        doctor(layout, Outcome.SKIPPED, reason="nothing new since the last run").execute(context)


def test_an_overdue_feed_fails_and_is_not_retried(layout: Layout, context: Context) -> None:
    with pytest.raises(AirflowFailException, match="FeedOverdue"):
        doctor(layout, Outcome.FAILED, error=error("FeedOverdue")).execute(context)


def test_a_step_that_was_killed_is_tried_again(layout: Layout, context: Context) -> None:
    with pytest.raises(AirflowException) as raised:
        doctor(layout, None).execute(context)
    assert not isinstance(raised.value, AirflowFailException)


def test_a_root_that_is_not_set_needs_a_person(
    layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMILL_ROOT")
    with pytest.raises(AirflowFailException, match="TIDEMILL_ROOT"):
        doctor(layout, Outcome.DONE).execute(context)


def test_the_real_command_says_of_itself_that_it_may_start_no_jvm() -> None:
    command = step_command("gate", [NAME], "--no-run")
    assert command[1:] == (str(APPLICATION), "gate", NAME, "--run-id=--no-run", "--no-spark")


def test_ingest_is_submitted_with_the_engines_settings(
    spark_submit: FakeSpark, project: Path, layout: Layout, context: Context
) -> None:
    more = "spark: {conf: {spark.sql.ansi.enabled: false, spark.executor.memory: 2g}}\n"
    (project / "dags/specs/orders.yaml").write_text(minimal(more))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    argv = spark_submit.call["argv"]
    assert argv[:2] == ["--master", "local[2]"]
    assert argv[-4:] == [str(APPLICATION), "ingest", NAME, f"--run-id={RUN_ID}"]
    assert spark_submit.conf["spark.sql.ansi.enabled"] == "true"
    assert spark_submit.conf["spark.executor.memory"] == "2g"
    assert spark_submit.conf["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"


def test_the_driver_knows_who_started_it_and_where_everything_is(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    environ = spark_submit.call["env"]
    assert ProcessId.model_validate_json(environ[LAUNCHER_VARIABLE]) == this_process()
    assert environ["TIDEMILL_ROOT"] == str(layout.root)
    assert environ["PYSPARK_PYTHON"] == environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert environ["JAVA_HOME"] == "/java"


LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}


@pytest.mark.parametrize(
    ("master", "listens"),
    [
        ("local", LOOPBACK),
        ("local[2]", LOOPBACK),
        ("spark://host", {}),
        ("yarn", {}),
    ],
)
@pytest.mark.usefixtures("answering_masters")
def test_only_a_local_driver_listens_on_the_loopback_interface(
    spark_submit: FakeSpark,
    layout: Layout,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
    listens: dict[str, str],
) -> None:
    for name in LOOPBACK:
        monkeypatch.delenv(name, raising=False)
    connection = {"conn_type": "spark", "host": master}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert {name: spark_submit.call["env"].get(name) for name in LOOPBACK} == {
        **dict.fromkeys(LOOPBACK),
        **listens,
    }
    # On no command line, where it would go over what spark-defaults.conf says.
    assert "spark.driver.host" not in spark_submit.conf


def test_an_address_that_somebody_gave_a_local_driver_stays(
    spark_submit: FakeSpark, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.0.0.1")
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert spark_submit.call["env"]["SPARK_LOCAL_IP"] == "10.0.0.1"


def test_a_small_backlog_asks_for_a_quick_start(spark_submit: FakeSpark, layout: Layout) -> None:
    pipeline = open_pipeline(NAME)
    assert spark_conf([pipeline], RUN_ID, {})["spark.driver.extraJavaOptions"] == THROUGHPUT
    seen = report_of("doctor", Outcome.DONE, facts={"backlog_bytes": 1000})
    reports.write(seen, layout.run(RUN_ID))
    assert QUICK_START in spark_conf([pipeline], RUN_ID)["spark.driver.extraJavaOptions"]


def test_a_missing_connection_is_refused_before_anything_is_submitted(
    spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_TIDEMILL_SPARK")
    with pytest.raises(AirflowFailException, match=f"no connection '{CONN_ID}'"):
        ingest().execute(context)
    assert not spark_submit.called


def test_a_machine_without_spark_submit_needs_a_person(
    spark_submit: FakeSpark, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tidemill_airflow.operators.spark_hook.spark_binary", lambda _: "/no/such/spark-submit"
    )
    with pytest.raises(AirflowFailException, match="/no/such/spark-submit"):
        ingest().execute(context)


def test_the_report_counts_for_more_than_sparks_exit_code(
    spark_submit: FakeSpark, context: Context
) -> None:
    spark_submit.leaves(report_of("ingest", Outcome.REFUSED, error=error("ForeignSink")))
    with pytest.raises(AirflowFailException, match="ForeignSink"):
        ingest().execute(context)


def test_a_driver_that_left_no_report_is_tried_again(
    spark_submit: FakeSpark, context: Context
) -> None:
    spark_submit.exits(137)
    with pytest.raises(AirflowException, match="137") as raised:
        ingest().execute(context)
    assert not isinstance(raised.value, AirflowFailException)


def test_a_driver_that_could_not_read_its_spec_is_not(
    spark_submit: FakeSpark, context: Context
) -> None:
    spark_submit.exits(2)
    with pytest.raises(AirflowFailException):
        ingest().execute(context)


def test_killing_ingest_ends_the_driver_and_its_workers(
    spark_submit: FakeSpark, context: Context
) -> None:
    spark_submit.hangs()
    operator = ingest()
    ended: list[BaseException] = []

    def execute() -> None:
        try:
            operator.execute(context)
        except AirflowException as error:
            ended.append(error)

    task = threading.Thread(target=execute, daemon=True)
    task.start()
    deadline = time.monotonic() + 60
    while spark_submit.worker is None and time.monotonic() < deadline:
        time.sleep(0.02)
    worker = spark_submit.worker
    assert worker
    operator.on_kill()
    task.join(60)
    assert len(ended) == 1
    assert not psutil.pid_exists(worker) or psutil.Process(worker).status() == "zombie"


def test_a_small_increment_is_judged_without_spark(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    gate(layout, Outcome.DONE).execute(context)
    assert not spark_submit.called


def test_an_increment_too_large_for_that_is_judged_by_spark(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    spark_submit.leaves(report_of("gate", Outcome.HELD))
    with pytest.raises(AirflowFailException):
        gate(layout, Outcome.NEEDS_SPARK).execute(context)
    assert spark_submit.call["argv"][-3:] == ["gate", NAME, f"--run-id={RUN_ID}"]


def test_a_backfill_that_lost_its_race_is_computed_again_by_spark(
    spark_submit: FakeSpark, layout: Layout
) -> None:
    operator = PublishOperator(task_id="publish", pipeline=NAME, conn_id=CONN_ID)
    operator.command = leaving(layout.runs, report_of("publish", Outcome.NEEDS_SPARK))
    spark_submit.leaves(report_of("publish", Outcome.DONE, reason="in version 12"))
    events = {table_alias(NAME): object()}
    result = operator.execute(context_of("backfill", RUN_ID, outlet_events=events))
    assert result["reason"] == "in version 12"
    assert spark_submit.call["argv"][-3:] == ["publish", NAME, f"--run-id={RUN_ID}"]


@pytest.mark.parametrize("role", get_args(Role))
def test_spark_is_started_for_what_computes_something(
    spark_submit: FakeSpark, layout: Layout, context: Context, role: Role
) -> None:
    fix_request(layout.run(RUN_ID), RunRequest(role=role, increment=3))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    assert ingest().execute(context)["outcome"] == "done"
    assert spark_submit.called is (role not in ("release", "reject"))


def test_a_held_increment_fails_the_gate_with_its_reasons(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    operator = GateOperator(task_id="gate", pipeline=NAME, conn_id=CONN_ID)
    held = report_of("gate", Outcome.HELD, reason="increment 000003 is held: quantity below 1")
    operator.command = leaving(layout.runs, held)
    with pytest.raises(AirflowFailException, match="quantity below 1"):
        operator.execute(context)


@pytest.mark.parametrize(
    ("backlog", "role", "more", "follows"),
    [
        (1000, "live", "", True),
        (SMALL_BACKLOG_BYTES, "live", "", False),
        (None, "live", "", False),
        (1000, "backfill", "", False),
        (1000, "live", "airflow: {steps: {gate: {queue: large}}}\n", False),
        (1000, "live", "airflow: {steps: {gate: {priority_weight: 1}}}\n", False),
        (1000, "live", "airflow: {steps: {doctor: {queue: large}}}\n", True),
        (1000, "live", "sink: {kind: console}\n", False),
    ],
)
def test_the_ingest_of_a_small_backlog_also_gates_and_publishes(
    spark_submit: FakeSpark,
    project: Path,
    layout: Layout,
    context: Context,
    backlog: int | None,
    role: Role,
    more: str,
    follows: bool,
) -> None:
    (project / "dags/specs/orders.yaml").write_text(minimal(more))
    fix_request(layout.run(RUN_ID), RunRequest(role=role))
    seen = report_of("doctor", Outcome.DONE, facts={"backlog_bytes": backlog})
    reports.write(seen, layout.run(RUN_ID))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert (spark_submit.call["argv"][-1] == "--through=publish") is follows


def test_a_driver_that_is_killed_after_its_ingest_leaves_the_gate_to_its_own_task(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    reports.write(
        report_of("doctor", Outcome.DONE, facts={"backlog_bytes": 1000}), layout.run(RUN_ID)
    )
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    spark_submit.exits(137)
    assert ingest().execute(context)["outcome"] == "done"
    reports.write(report_of("gate", Outcome.DONE), layout.run(RUN_ID))
    with pytest.raises(AirflowFailException):
        gate(layout, Outcome.HELD).execute(context)


def test_a_driver_on_another_machine_ingests_only(
    spark_submit: FakeSpark, layout: Layout, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_TIDEMILL_SPARK", json.dumps(connection))
    seen = report_of("doctor", Outcome.DONE, facts={"backlog_bytes": 1000})
    reports.write(seen, layout.run(RUN_ID))
    spark_submit.leaves(report_of("ingest", Outcome.DONE))
    ingest().execute(context)
    assert "--through=publish" not in spark_submit.call["argv"]


def test_a_gate_ends_as_the_verdict_of_the_ingests_process_and_judges_itself_when_cleared(
    spark_submit: FakeSpark, layout: Layout, context: Context
) -> None:
    held = report_of("gate", Outcome.HELD, reason="increment 000003 is held: quantity below 1")
    reports.write(held, layout.run(RUN_ID))
    handover.offer(layout.run(RUN_ID), "gate")
    operator = gate(layout, Outcome.DONE)
    with pytest.raises(AirflowFailException, match="quantity below 1"):
        operator.execute(context)
    assert operator.execute(context)["outcome"] == "done"


def test_a_publish_that_failed_in_the_ingests_process_is_tried_again_by_its_own_task(
    layout: Layout, spark_submit: FakeSpark
) -> None:
    lost = report_of("publish", Outcome.FAILED, error=error("Lost", transient=True))
    reports.write(lost, layout.run(RUN_ID))
    handover.offer(layout.run(RUN_ID), "publish")
    operator = PublishOperator(task_id="publish", pipeline=NAME, conn_id=CONN_ID)
    operator.command = leaving(layout.runs, report_of("publish", Outcome.SKIPPED, reason="again"))
    context = context_of("manual", RUN_ID, outlet_events={table_alias(NAME): object()})
    with pytest.raises(AirflowException) as raised:
        operator.execute(context)
    assert not isinstance(raised.value, AirflowFailException)
    with pytest.raises(AirflowSkipException, match="again"):
        operator.execute(context)
