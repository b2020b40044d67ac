"""The DAG in which people decide: it asks, and then does what was approved in their name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.providers.standard.operators import hitl
from airflow.sdk import DAG, Context
from airflow.sdk.exceptions import AirflowFailException, TaskAwaitingInput

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import context_of
from tests.support.airflow.fake_spark_submit import FakeSpark
from tests.support.airflow.fake_step import leaving, report_of
from tests.support.spec_text import PATH, minimal, parse
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.increments.increments import Increments, Sealed, Verdict
from tidemill.ledger.run_request import LIVE, read_request
from tidemill_airflow.dags.house_rules import RESOLVE_STEPS
from tidemill_airflow.dags.resolve import ApproveOperator, ResolveDoctorOperator, build_resolve_dag
from tidemill_airflow.integrity import DAG_FILE
from tidemill_airflow.local.metadata import forget
from tidemill_airflow.task_names import resolve_id

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


def context(
    params: dict[str, Any], xcom: dict[str, Any] | None = None, starter: str | None = "ada"
) -> Context:
    ti = SimpleNamespace(id="ti", xcom_pull=lambda task_ids: xcom)
    return context_of("manual", params=params, by=starter, task_instance=ti, ti=ti)


def rewrite(project: Path, decisions: str) -> None:
    """Give the small project's spec conditions for decisions."""
    spec = project / "dags" / "specs" / f"{NAME}.yaml"
    spec.write_text(f"{spec.read_text()}decisions: {decisions}\n")


def answer(option: str, by: str | None = "bob") -> dict[str, Any]:
    user = None if by is None else {"id": "2", "name": by}
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


def test_nobody_is_asked_where_the_answer_could_not_be_kept(
    asked: list[dict[str, Any]], held: None, layout: Layout
) -> None:
    layout.root.rename(layout.root.with_name("unmounted"))
    with pytest.raises(AirflowFailException, match="RootNotWritable"):
        approve().execute(context(RELEASE))
    assert asked == []
    layout.root.with_name("unmounted").rename(layout.root)
    with pytest.raises(TaskAwaitingInput):
        approve().execute(context(RELEASE))


def test_what_was_not_approved_is_skipped(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped: list[str] = []

    def skip(self: object, ti: object, tasks: Iterator[Any]) -> None:
        skipped.extend(task.task_id for task in tasks)

    monkeypatch.setattr(ApproveOperator, "skip", skip)
    task = approve()
    run = context_of("manual", params=RELEASE, by="ada", task=task, ti=None)
    task.execute_complete(run, answer("Approve"))
    assert skipped == []
    task.execute_complete(run, answer("Reject"))
    assert skipped == ["doctor"]


def approved(run: Context, option: str = "Approve", by: str | None = "bob") -> None:
    """Have the task `approve` of a run get its answer, as Airflow hands it over."""
    approve().execute_complete(run, answer(option, by))


def doctor(layout: Layout) -> ResolveDoctorOperator:
    task = ResolveDoctorOperator(task_id="doctor", pipeline=NAME)
    task.command = leaving(layout.runs, report_of("doctor", Outcome.DONE))
    return task


def test_it_is_done_in_the_name_of_who_approved_it(layout: Layout) -> None:
    run = context(RELEASE)
    approved(run)
    doctor(layout).execute(run)
    request = read_request(layout.run("run-1"))
    assert (request.role, request.increment, request.by) == ("release", 3, "bob")


@pytest.mark.parametrize("written", [None, answer("Approve"), answer("Reject")])
def test_a_task_marked_successful_and_an_xcom_that_somebody_wrote_approve_nothing(
    layout: Layout, written: dict[str, Any] | None
) -> None:
    with pytest.raises(AirflowFailException, match="NotApproved"):
        doctor(layout).execute(context(RELEASE, written))
    assert read_request(layout.run("run-1")) == LIVE


def test_what_was_approved_is_done_whatever_the_run_is_asked_later(layout: Layout) -> None:
    approved(context(RELEASE))
    doctor(layout).execute(context({**RELEASE, "increment": 4}))
    assert read_request(layout.run("run-1")).increment == 3


def test_a_question_that_is_put_again_takes_the_earlier_answer_back(
    asked: list[dict[str, Any]], held: None, layout: Layout
) -> None:
    run = context(RELEASE)
    approved(run)
    with pytest.raises(TaskAwaitingInput):
        approve().execute(run)
    with pytest.raises(AirflowFailException, match="NotApproved"):
        doctor(layout).execute(run)


def test_an_approval_of_nobody_is_none(layout: Layout) -> None:
    with pytest.raises(AirflowFailException, match="NotApproved"):
        approved(context(RELEASE), by=None)


@pytest.mark.parametrize(
    ("decisions", "by", "allowed"),
    [
        ("{approvers: [ann, bob]}", "bob", True),
        ("{approvers: [ann, bob]}", "ada", False),
        ("{four_eyes: true}", "bob", True),
        ("{four_eyes: true}", "ada", False),
        ("{approvers: [ada, bob], four_eyes: true}", "ada", False),
    ],
)
def test_the_spec_says_who_may_approve(
    project: Path, layout: Layout, decisions: str, by: str, allowed: bool
) -> None:
    rewrite(project, decisions)
    run = context(RELEASE)
    if allowed:
        approved(run, by=by)
        doctor(layout).execute(run)
        return
    with pytest.raises(AirflowFailException, match="ApproverNotAllowed"):
        approved(run, by=by)
    with pytest.raises(AirflowFailException, match="NotApproved"):
        doctor(layout).execute(run)


def test_where_nobody_knows_who_asked_two_people_cannot_be_told_apart(
    project: Path, layout: Layout
) -> None:
    rewrite(project, "{four_eyes: true}")
    with pytest.raises(AirflowFailException, match="ApproverNotAllowed"):
        approved(context(RELEASE, starter=None))


def test_airflow_itself_turns_away_who_is_no_approver(
    asked: list[dict[str, Any]], held: None, project: Path
) -> None:
    rewrite(project, "{approvers: [ann, bob]}")
    with pytest.raises(TaskAwaitingInput):
        approve().execute(context(RELEASE))
    (question,) = asked
    assert question["assigned_users"] == [{"id": name, "name": name} for name in ("ann", "bob")]
    assert "may approve: ann, bob" in question["body"]


@pytest.fixture
def dag(
    airflow_database: None, project: Any, layout: Layout, spark_submit: FakeSpark
) -> Iterator[DAG]:
    found: DAG = DagBag(str(DAG_FILE)).dags[resolve_id(NAME)]
    for step in ("doctor", "decide", "gate", "publish"):
        task: Any = found.get_task(step)
        task.command = leaving(layout.runs, report_of(step, Outcome.DONE))  # type: ignore[arg-type]
    yield found
    forget(resolve_id(NAME))


def states(ended: Any) -> dict[str, str]:
    return {ti.task_id: str(ti.state) for ti in ended.get_task_instances()}


def test_an_approved_release_goes_through_every_step_and_starts_no_spark(
    dag: DAG, layout: Layout, spark_submit: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(self: ApproveOperator, context: Context) -> Any:
        return self.execute_complete(context, answer("Approve"))

    monkeypatch.setattr(ApproveOperator, "execute", answered)
    ended = dag.test(run_conf=RELEASE)
    assert states(ended) == dict.fromkeys(RESOLVE_STEPS, "success")
    request = read_request(layout.run(ended.run_id))
    assert (request.role, request.increment, request.by) == ("release", 3, "bob")
    assert not spark_submit.called


def test_a_run_whose_question_somebody_marked_answered_ends_at_its_doctor(
    dag: DAG, layout: Layout
) -> None:
    ended = dag.test(run_conf=RELEASE, mark_success_pattern="approve")
    assert states(ended)["doctor"] == "failed"
    assert read_request(layout.run(ended.run_id)) == LIVE
