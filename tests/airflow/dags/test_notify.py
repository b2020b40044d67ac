"""One message per change of state."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk import Context

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_step import error, report_of
from tests.support.airflow.recording_notifier import RecordingNotifier
from tests.support.spec_text import PATH, minimal, parse
from tidemill.contract import report as reports
from tidemill.contract.errors import SpecError
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome, Step
from tidemill.increments.increments import Increments, Sealed, Verdict
from tidemill.ledger.run_kinds import Role
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.spec.settings import Notify
from tidemill_airflow.dags.notify import Notices, StateNotice
from tidemill_airflow.operators.request import RequestRefused

NOTIFIER = f"{RecordingNotifier.__module__}.{RecordingNotifier.__qualname__}"


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(RecordingNotifier, "sent", messages)
    return messages


@pytest.fixture
def notice() -> StateNotice:
    args = {"text": "tidemill: {message}", "to": ["{message}", "shop"]}
    return StateNotice(Notify(notifier=NOTIFIER, args=args))


def ended(layout: Layout, step: Step, outcome: Outcome | None, **more: Any) -> Context:
    """The context of a task's callback, after its step left a report."""
    run_id = f"run-{len(list(layout.runs.glob('*')))}"
    if outcome is not None:
        reports.write(report_of(step, outcome, **more), layout.run(run_id))
    ti = SimpleNamespace(dag_id=NAME, task_id=step)
    return cast("Context", {"ti": ti, "run_id": run_id, "exception": RuntimeError("lost")})


def states(layout: Layout) -> list[str]:
    return [notice.state for notice in Notices(layout.notices).all()]


def test_a_hold_is_told_with_its_reason(
    layout: Layout, notice: StateNotice, sent: list[dict[str, Any]]
) -> None:
    held = ended(layout, "gate", Outcome.HELD, reason="increment 000003 is held: quantity")
    notice.failed(held)
    message = "orders is held. gate: increment 000003 is held: quantity"
    assert sent == [{"text": f"tidemill: {message}", "to": [message, "shop"]}]
    assert states(layout) == ["held"]


def test_a_hold_is_told_with_the_address_of_its_page(
    layout: Layout,
    notice: StateNotice,
    sent: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://flow.example/air")
    notice.failed(ended(layout, "gate", Outcome.HELD, reason="held", facts={"increment": 3}))
    page = "https://flow.example/air/tidemill/pipelines/orders/increments/3"
    assert sent[0]["text"].endswith(f"gate: held {page}")


def test_a_pipeline_that_stays_held_sends_nothing_more(
    layout: Layout, notice: StateNotice, sent: list[dict[str, Any]]
) -> None:
    for _ in range(3):
        notice.failed(ended(layout, "gate", Outcome.HELD))
    assert (len(sent), states(layout)) == (1, ["held"])


@pytest.mark.parametrize(
    ("step", "outcome", "more", "state"),
    [
        ("gate", Outcome.HELD, {}, "held"),
        ("doctor", Outcome.FAILED, {"error": error("FeedOverdue")}, "overdue"),
        ("doctor", Outcome.REFUSED, {"error": error("InputChanged")}, "refused"),
        ("ingest", Outcome.FAILED, {"error": error("QueryFailed")}, "failed"),
        ("ingest", None, {}, "failed"),
    ],
)
def test_each_trouble_has_its_state(
    layout: Layout,
    notice: StateNotice,
    step: Step,
    outcome: Outcome | None,
    more: dict[str, Any],
    state: str,
) -> None:
    notice.failed(ended(layout, step, outcome, **more))
    assert states(layout) == [state]


@pytest.mark.parametrize(
    ("role", "outcome", "state"),
    [
        ("backfill", Outcome.REFUSED, []),
        ("redo", None, []),
        ("backfill", Outcome.HELD, ["held"]),
        ("live", Outcome.REFUSED, ["refused"]),
    ],
)
def test_what_was_asked_for_in_vain_is_no_state_of_the_pipeline(
    layout: Layout, notice: StateNotice, role: Role, outcome: Outcome | None, state: list[str]
) -> None:
    run = ended(layout, "gate", outcome, error=error("NotFinalYet"))
    fix_request(layout.run(run["run_id"]), RunRequest(role=role))
    notice.failed(run)
    assert states(layout) == state


def test_nor_are_parameters_that_contradict_each_other(layout: Layout, notice: StateNotice) -> None:
    run = ended(layout, "doctor", None)
    run["exception"] = RuntimeError()
    run["exception"].__cause__ = RequestRefused("No dates.", remedy="Give them.")
    notice.failed(run)
    assert states(layout) == []


@pytest.mark.parametrize(("role", "after"), [("backfill", "refused"), ("redo", "ok")])
def test_past_days_computed_again_do_not_make_it_well(
    layout: Layout, notice: StateNotice, role: Role, after: str
) -> None:
    notice.failed(ended(layout, "doctor", Outcome.REFUSED, error=error("InputChanged")))
    run = ended(layout, "publish", Outcome.DONE)
    fix_request(layout.run(run["run_id"]), RunRequest(role=role))
    notice.ended(run)
    assert states(layout)[-1] == after


def test_being_well_again_is_noted_and_not_sent_and_the_next_trouble_is_news(
    layout: Layout, notice: StateNotice, sent: list[dict[str, Any]]
) -> None:
    notice.failed(ended(layout, "gate", Outcome.HELD))
    notice.ended(ended(layout, "publish", Outcome.DONE))
    notice.failed(ended(layout, "gate", Outcome.HELD))
    assert states(layout) == ["held", "ok", "held"]
    assert len(sent) == 2


def test_a_pipeline_that_was_always_well_leaves_no_notice(
    layout: Layout, notice: StateNotice
) -> None:
    notice.ended(ended(layout, "publish", Outcome.DONE))
    assert states(layout) == []


def hold(layout: Layout) -> None:
    """An increment that the gate holds."""
    increments, now = Increments(layout.increments), datetime.now(UTC)
    increments.seal(
        Sealed(
            increment=3,
            generation="live-0001",
            first=0,
            last=0,
            files=1,
            files_hash="",
            rows=1,
            rejected=0,
            run_id="r",
            sealed=now,
        )
    )
    increments.judge(
        Verdict(
            increment=3,
            outcome="held",
            files_hash="",
            suite_hash="",
            gate_hash="",
            engine="in_process",
            why="",
            reasons=("quantity",),
            warnings=(),
            judgement={},
            run_id="r",
            judged=now,
        )
    )


@pytest.mark.parametrize(
    ("step", "outcome"),
    [("publish", Outcome.DONE), ("publish", Outcome.WAITING), ("doctor", Outcome.SKIPPED)],
)
def test_a_pipeline_that_still_holds_an_increment_is_not_well(
    layout: Layout, notice: StateNotice, step: Step, outcome: Outcome
) -> None:
    hold(layout)
    notice.failed(ended(layout, "gate", Outcome.HELD))
    notice.ended(ended(layout, step, outcome))
    assert states(layout) == ["held"]


def test_a_gate_that_passed_is_not_the_end_of_a_run(layout: Layout, notice: StateNotice) -> None:
    notice.failed(ended(layout, "publish", Outcome.FAILED))
    notice.ended(ended(layout, "gate", Outcome.DONE))
    assert states(layout) == ["failed"]


def test_a_task_that_failed_beside_its_step_tells_why(
    layout: Layout, notice: StateNotice, sent: list[dict[str, Any]]
) -> None:
    notice.failed(ended(layout, "ingest", Outcome.DONE))
    assert states(layout) == ["failed"]
    assert sent[0]["text"] == "tidemill: orders is failed. ingest: lost"


def test_a_feed_with_nothing_new_is_well_again(layout: Layout, notice: StateNotice) -> None:
    notice.failed(ended(layout, "doctor", Outcome.REFUSED, error=error("RootUnusable")))
    notice.ended(ended(layout, "doctor", Outcome.SKIPPED))
    assert states(layout) == ["refused", "ok"]


def test_a_message_that_could_not_be_sent_is_sent_the_next_time(
    layout: Layout,
    notice: StateNotice,
    sent: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RecordingNotifier, "broken", True)
        with pytest.raises(ConnectionError):
            notice.failed(ended(layout, "gate", Outcome.HELD))
    assert states(layout) == []
    notice.failed(ended(layout, "gate", Outcome.HELD))
    assert (len(sent), states(layout)) == (1, ["held"])


def test_a_file_name_is_never_taken_for_a_template(
    layout: Layout, notice: StateNotice, sent: list[dict[str, Any]]
) -> None:
    reason = "/in/{{ 6 * 7 }}{% raw %}.csv changed"
    notice.failed(ended(layout, "doctor", Outcome.REFUSED, reason=reason))
    assert "6 * 7" in sent[0]["text"]
    assert "42" not in sent[0]["text"]


@pytest.mark.parametrize("name", ["password", "smtp_passwd", "api_key", "token", "client_secret"])
def test_a_secret_among_the_arguments_is_refused(name: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse(minimal(f"notify: {{notifier: a.B, args: {{{name}: x}}}}\n"))
    assert raised.value.field == "notify.args"


@pytest.mark.parametrize(
    ("more", "states_after"),
    [("", ["failed"]), ("sink: {kind: console}\n", ["failed", "ok"])],
)
def test_a_pipeline_without_a_gate_is_well_again_after_its_ingest(
    layout: Layout, sent: list[dict[str, Any]], more: str, states_after: list[str]
) -> None:
    spec = parse(minimal(f"notify: {{notifier: {NOTIFIER}, args: {{text: x}}}}\n{more}"))
    notice = StateNotice.of(spec, PATH)
    notice.failed(ended(layout, "ingest", Outcome.FAILED, error=error("QueryFailed")))
    notice.ended(ended(layout, "ingest", Outcome.DONE))
    assert states(layout) == states_after
