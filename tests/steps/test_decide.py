"""What a person decided is carried out by a step of its own; the doctor only looks."""

from __future__ import annotations

import pytest

from tests.support.histories.history_builder import History
from tests.support.sample_rows import rows
from tidemill.contract.report import Outcome, Step
from tidemill.increments.increment import State
from tidemill.ledger.run_kinds import Role
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.main import step_function
from tidemill.steps.parts.run import perform


@pytest.fixture
def held(history: History) -> History:
    history.increment(rows(2), outcome="held")
    return history


def perform_step(history: History, step: Step) -> Outcome:
    return perform(step, step_function(step), history.run("decision")).outcome


@pytest.mark.parametrize(
    ("role", "state"), [("release", State.RELEASED), ("reject", State.REJECTED)]
)
def test_the_doctor_only_looks_and_the_next_step_decides(
    held: History, role: Role, state: State
) -> None:
    request = RunRequest(role=role, increment=1, by="ada", reason="a test")
    fix_request(held.layout.run("decision"), request)
    assert request.steps == ("doctor", "decide", "ingest", "gate", "publish")
    assert perform_step(held, "doctor") is Outcome.DONE
    assert held.snapshot.get(1).state is State.HELD
    assert perform_step(held, "decide") is Outcome.DONE
    assert held.snapshot.get(1).state is state
    assert perform_step(held, "decide") is Outcome.DONE, "a retry finds it decided"


@pytest.mark.parametrize("role", ["release", "reject"])
def test_what_consumers_see_is_refused_by_the_doctor_already(history: History, role: Role) -> None:
    history.increment(rows(2))
    history.publish()
    fix_request(
        history.layout.run("decision"), RunRequest(role=role, increment=1, by="a", reason="b")
    )
    assert perform_step(history, "doctor") is Outcome.FAILED
    assert perform_step(history, "decide") is Outcome.FAILED
    assert history.snapshot.get(1).state is State.PASSED


def test_any_other_run_has_nothing_to_decide(held: History) -> None:
    assert "decide" not in RunRequest().steps
    assert perform_step(held, "decide") is Outcome.DONE
    assert held.snapshot.get(1).state is State.HELD
