"""The DAG in which people decide: it asks, and then does what was approved in their name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.providers.standard.operators import hitl
from airflow.sdk import DAG, Context
from airflow.sdk.exceptions import AirflowFailException, TaskAwaitingInput

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.increments import Increments, Sealed, Verdict
from spark_jobs.ledger.request import read_request
from tests.airflow.conftest import NAME
from tests.airflow.fake_run import context_of
from tests.airflow.fake_spark import FakeSpark
from tests.airflow.fake_step import leaving, report_of
from tests.specs import PATH, minimal, parse
from tidemill.house_rules import RESOLVE_STEPS
from tidemill.integrity import DAG_FILE
from tidemill.metadata import forget
from tidemill.resolve import ApproveOperator, ResolveDoctorOperator, build_resolve_dag
from tidemill.task_names import resolve_id

RELEASE = {"action": "release", "increment": 3, "reason": "`closed` <b>on</b> Sunday"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The questions that Airflow would show."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **question: found.append(question))
    return found


@pytest.fixture
def held(layout: Layout) -> None:
    """Increment 3, which the gate holds."""
    increments, now = Increments(layout.increments), datetime.now(UTC)
    sealed = Sealed(
        increment=3,
        generation="live-0001",
        first=0,
        last=0,
        files=1,
        files_hash="",
        rows=10,
        rejected=2,
        run_id="r",
        sealed=now,
    )
    increments.seal(sealed)
    verdict = Verdict(
        increment=3,
        outcome="held",
        files_hash="",
        suite_hash="",
        gate_hash="",
        engine="duckdb",
        why="",
        reasons=("quantity below 1",),
        run_id="r",
        judged=now,
    )
    increments.judge(verdict)


def approve() -> Any:
    return build_resolve_dag(NAME, parse(minimal()), PATH).get_task("approve")


def context(params: dict[str, Any], answer: dict[str, Any] | None = None) -> Context:
    ti = SimpleNamespace(id="ti", xcom_pull=lambda task_ids: answer)
    return context_of("manual", params=params, by="ada", task_instance=ti, ti=ti)


def answer(option: str) -> dict[str, Any]:
    user = {"id": "2", "name": "bob"}
    now = datetime.now(UTC)
    return {
        "chosen_options": [option],
        "params_input": {},
        "responded_at": now,
        "responded_by_user": user,
    }


def test_the_question_says_what_will_be_done_to_what_and_why_it_was_held(
    asked: list[dict[str, Any]], held: None
) -> None:
    with pytest.raises(TaskAwaitingInput):
        approve().execute(context(RELEASE))
    (question,) = asked
    assert question["subject"] == f"{NAME}: release of increment 000003"
    assert question["options"] == ["Approve", "Reject"]
    # Whoever does not answer has not approved.
    assert question["defaults"] == ["Reject"]
    for said in ("ada", "10 rows and 2 rejected", "quantity below 1", "`` 'closed' <b>on</b>"):
        assert said in question["body"]


@pytest.mark.parametrize("params", [{**RELEASE, "increment": 4}, {**RELEASE, "increment": None}])
def test_nobody_is_asked_about_what_cannot_be(
    asked: list[dict[str, Any]], held: None, params: dict[str, Any]
) -> None:
    with pytest.raises(AirflowFailException):
        approve().execute(context(params))
    assert asked == []


def test_what_was_not_approved_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped: list[str] = []

    def skip(self: object, ti: object, tasks: Iterator[Any]) -> None:
        skipped.extend(task.task_id for task in tasks)

    monkeypatch.setattr(ApproveOperator, "skip", skip)
    task = approve()
    run = context_of("manual", params=RELEASE, task=task, ti=None)
    task.execute_complete(run, answer("Approve"))
    assert skipped == []
    task.execute_complete(run, answer("Reject"))
    assert skipped == ["doctor"]


@pytest.mark.parametrize(
    ("answered", "by"), [(answer("Approve"), "bob"), (None, "ada"), ({**answer("Approve")}, "bob")]
)
def test_it_is_done_in_the_name_of_who_approved_it(
    layout: Layout, answered: dict[str, Any] | None, by: str
) -> None:
    doctor = ResolveDoctorOperator(task_id="doctor", pipeline=NAME)
    doctor.command = leaving(layout.runs, report_of("doctor", Outcome.DONE))
    doctor.execute(context(RELEASE, answered))
    request = read_request(layout.run("run-1"))
    assert (request.role, request.increment, request.by) == ("release", 3, by)


@pytest.fixture
def dag(database: None, project: Any, layout: Layout, spark: FakeSpark) -> Iterator[DAG]:
    found: DAG = DagBag(str(DAG_FILE)).dags[resolve_id(NAME)]
    for step in ("doctor", "gate", "publish"):
        task: Any = found.get_task(step)
        task.command = leaving(layout.runs, report_of(step, Outcome.DONE))  # type: ignore[arg-type]
    yield found
    forget(resolve_id(NAME))


@pytest.mark.airflow
def test_an_approved_release_goes_through_every_step_and_starts_no_spark(
    dag: DAG, layout: Layout, spark: FakeSpark
) -> None:
    ended = dag.test(run_conf=RELEASE, mark_success_pattern="approve")
    states = {ti.task_id: str(ti.state) for ti in ended.get_task_instances()}
    assert states == dict.fromkeys(RESOLVE_STEPS, "success")
    request = read_request(layout.run(ended.run_id))
    assert (request.role, request.increment) == ("release", 3)
    assert request.by
    assert not spark.called
