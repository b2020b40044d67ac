"""What a run is for: fixed by its doctor, from the run's type and interval or from a form."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.airflow.conftest import NAME
from tests.support.airflow.fake_dag_run import DAY, context_of
from tests.support.airflow.fake_step import leaving, report_of
from tests.support.spec_text import minimal, parse
from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.contract.os_user import os_user
from tidemill.contract.report import Outcome
from tidemill.ledger.reprocessed_run import airflow_run_id, current_run_id
from tidemill.ledger.run_increment import read_run_increment, remember
from tidemill.ledger.run_request import RunRequest, fix_request, read_request
from tidemill_airflow.operators.request import RequestRefused, in_words, request_of, resolution_of
from tidemill_airflow.operators.steps import DoctorOperator

LONDON = parse(minimal("timezone: Europe/London\n"))
JUNE = {"mode": "backfill", "from": "2011-06-01", "to": "2011-06-08"}
DEFAULTS = {"mode": "live", "from": None, "to": None, "dry_run": False, "reason": None}


@pytest.fixture
def doctor(layout: Layout) -> DoctorOperator:
    operator = DoctorOperator(task_id="doctor", pipeline=NAME)
    operator.command = leaving(layout.runs, report_of("doctor", Outcome.DONE))
    return operator


def fixed(layout: Layout) -> RunRequest:
    """What the run was fixed to do, without the time at which it was and the process that did."""
    found = read_request(layout.run("run-1"))
    if found.role != "live":
        assert found.os_user == os_user()
    return found.model_copy(update={"asked": None, "os_user": None})


# --- which runs are backfills


@pytest.mark.parametrize("run_type", ["scheduled", "manual", "asset_triggered"])
def test_a_run_that_nobody_asked_for_more_is_live(run_type: str) -> None:
    interval = DAY if run_type == "scheduled" else (None, None)
    request = request_of(LONDON, context_of(run_type, params=DEFAULTS, interval=interval))
    assert request == RunRequest(role="live")


def test_a_live_run_knows_its_interval_where_the_transform_asks_for_it() -> None:
    asks = parse(minimal("statics: {batch: {kind: batch}}\n"))
    request = request_of(asks, context_of("scheduled", params=DEFAULTS, interval=DAY))
    assert (request.role, request.interval_start, request.interval_end) == ("live", *DAY)


def test_a_run_of_a_backfill_is_of_its_interval(layout: Layout, doctor: DoctorOperator) -> None:
    doctor.execute(context_of("backfill", params={**DEFAULTS, "reason": "new rule"}, by="ada"))
    assert fixed(layout) == RunRequest(
        role="backfill", start=DAY[0], end=DAY[1], by="ada", reason="new rule"
    )


def test_a_run_started_by_hand_is_of_the_interval_it_was_given_in_the_zone_of_the_spec() -> None:
    given = {**DEFAULTS, **JUNE, "to": "2011-06-07T23:00:00.000Z", "dry_run": True}
    request = request_of(LONDON, context_of("manual", params=given, by="ada"))
    # Both are midnight in London, where it is summer.
    assert (request.start, request.end, request.dry_run, request.by) == (
        datetime(2011, 5, 31, 23, tzinfo=UTC),
        datetime(2011, 6, 7, 23, tzinfo=UTC),
        True,
        "ada",
    )


def test_a_run_started_by_hand_is_of_the_partitions_that_it_was_given() -> None:
    given = {**DEFAULTS, "mode": "backfill", "partitions": ["year=2012", "year=2013"]}
    request = request_of(LONDON, context_of("manual", params=given, by="ada"))
    assert request.partitions == ({"year": "2012"}, {"year": "2013"})
    assert in_words(request, "Europe/London") == "backfill of year=2012, year=2013"


def test_where_airflow_names_nobody_it_was_airflow() -> None:
    assert request_of(LONDON, context_of("backfill", params=DEFAULTS)).by == "airflow"


def test_the_runs_id_says_nothing_of_its_type() -> None:
    live = context_of("scheduled", "backfill__2026-03-01T00:00:00+00:00", DEFAULTS)
    past = context_of("backfill", "scheduled__2026-03-01T00:00:00+00:00", DEFAULTS)
    assert [request_of(LONDON, one).role for one in (live, past)] == ["live", "backfill"]


# --- what is refused before anything runs


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "backfill"},
        {**JUNE, "to": None},
        {**JUNE, "from": JUNE["to"]},
        {**JUNE, "from": "the first of June"},
        {**JUNE, "mode": "live"},
        {"dry_run": True},
        {"partitions": ["year=2012"]},
        {**JUNE, "partitions": ["year=2012"]},
        # As `"\\udce9"` in the JSON of a REST call.
        {**JUNE, "reason": "caf\udce9"},
    ],
)
def test_parameters_that_contradict_each_other_end_the_run_before_its_step(
    layout: Layout, doctor: DoctorOperator, given: dict[str, Any]
) -> None:
    with pytest.raises(AirflowFailException, match="RequestRefused") as raised:
        doctor.execute(context_of("manual", params={**DEFAULTS, **given}))
    assert isinstance(raised.value.__cause__, RequestRefused)
    assert not layout.runs.exists()


@pytest.mark.parametrize(
    "typed", [{"reason": "caf\udce9"}, {"reason": "late", "exclude": ["fine.csv", "bad\udcff.csv"]}]
)
def test_a_decision_typed_in_no_unicode_is_refused(typed: dict[str, Any]) -> None:
    given = {"action": "redo", "increment": None, **typed}
    with pytest.raises(RequestRefused):
        resolution_of(context_of("manual", params=given, by="ada"))


@pytest.mark.parametrize("interval", [(None, None), (DAY[0], DAY[0])])
def test_a_backfill_without_an_interval_is_refused(interval: Any) -> None:
    with pytest.raises(RequestRefused):
        request_of(LONDON, context_of("backfill", params=DEFAULTS, interval=interval))


def test_the_dates_of_a_backfill_are_those_of_its_dialog() -> None:
    with pytest.raises(RequestRefused):
        request_of(LONDON, context_of("backfill", params={**DEFAULTS, **JUNE}))


def test_what_spark_has_put_into_a_sink_of_its_own_is_not_backfilled() -> None:
    ungated = parse(minimal("sink: {kind: console}\n"))
    with pytest.raises(RequestRefused):
        request_of(ungated, context_of("manual", params=JUNE))


@pytest.mark.parametrize(
    "given",
    [
        {"action": "release", "increment": None},
        {"action": "reinstate", "increment": None},
        {"action": "rebuild", "increment": 3},
        {"action": "reject", "increment": 3, "exclude": ["a.csv"]},
        {"action": "redo", "accept_loss": True},
        {"action": "redo", "reason": "  "},
    ],
)
def test_a_decision_that_is_incomplete_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused):
        resolution_of(context_of("manual", params={"reason": "closed", **given}))


# --- what is fixed stays


def test_a_live_run_that_took_in_data_is_reprocessed_as_a_backfill_under_another_id(
    layout: Layout, doctor: DoctorOperator
) -> None:
    doctor.execute(context_of("scheduled", params=DEFAULTS))
    remember(layout.run("run-1"), 3)
    doctor.execute(context_of("backfill", params=DEFAULTS))
    assert fixed(layout).role == "live"
    assert read_run_increment(layout.run("run-1")) == 3
    assert current_run_id(layout, "run-1") == "run-1.reprocessed-1"
    assert airflow_run_id("run-1.reprocessed-1") == "run-1"
    again = read_request(layout.run("run-1.reprocessed-1"))
    assert (again.role, again.start, again.end) == ("backfill", *DAY)


def test_a_live_run_that_is_cleared_stays_live(layout: Layout, doctor: DoctorOperator) -> None:
    doctor.execute(context_of("scheduled", params=DEFAULTS))
    remember(layout.run("run-1"), 3)
    doctor.execute(context_of("scheduled", params=DEFAULTS))
    assert fixed(layout).role == "live"
    assert current_run_id(layout, "run-1") == "run-1"


def test_a_reprocessed_run_that_is_cleared_goes_on_with_its_backfill(
    layout: Layout, doctor: DoctorOperator
) -> None:
    doctor.execute(context_of("scheduled", params=DEFAULTS))
    remember(layout.run("run-1"), 3)
    for _ in range(3):
        doctor.execute(context_of("backfill", params=DEFAULTS))
    assert current_run_id(layout, "run-1") == "run-1.reprocessed-1"


def test_a_dry_run_of_the_dialog_that_is_done_once_more_names_the_way_to_a_real_one(
    layout: Layout, doctor: DoctorOperator
) -> None:
    given = {**DEFAULTS, "dry_run": True}
    doctor.execute(context_of("backfill", params=given))
    reports.write(report_of("ingest", Outcome.DONE), layout.run("run-1"))
    with pytest.raises(AirflowFailException, match="Override parameters"):
        doctor.execute(context_of("backfill", params=given))
    doctor.execute(context_of("backfill", params=DEFAULTS))
    assert not read_request(layout.run(current_run_id(layout, "run-1"))).dry_run


def test_a_dry_run_of_the_form_is_done_once_more_when_it_is_cleared(
    layout: Layout, doctor: DoctorOperator
) -> None:
    # The form is always sent, so its dry run is one.
    given = {**DEFAULTS, **JUNE, "dry_run": True}
    for _ in range(2):
        doctor.execute(context_of("manual", params=given))
        reports.write(
            report_of("ingest", Outcome.DONE), layout.run(current_run_id(layout, "run-1"))
        )
    assert read_request(layout.run("run-1.reprocessed-1")).dry_run


def test_a_live_run_that_found_nothing_becomes_a_backfill(
    layout: Layout, doctor: DoctorOperator
) -> None:
    doctor.execute(context_of("scheduled", params=DEFAULTS))
    doctor.execute(context_of("backfill", params=DEFAULTS))
    assert fixed(layout).role == "backfill"


def test_a_backfill_is_cleared_as_what_it_was(layout: Layout, doctor: DoctorOperator) -> None:
    doctor.execute(context_of("manual", params={**DEFAULTS, **JUNE}))
    first = fixed(layout)
    doctor.execute(context_of("manual", params={**DEFAULTS, **JUNE, "to": "2011-07-01"}))
    doctor.execute(context_of("manual", params=DEFAULTS))
    assert fixed(layout) == first


def test_nothing_is_fixed_where_the_root_is_gone(layout: Layout, doctor: DoctorOperator) -> None:
    layout.root.rmdir()
    seen: list[Path] = []

    def command(*_: Any) -> tuple[str, ...]:
        # The step is to find the root as it is, and to refuse it.
        seen.extend(layout.root.parent.glob(layout.root.name))
        return ("true",)

    doctor.command = command
    with pytest.raises(Exception, match="report"):
        doctor.execute(context_of("backfill", params=DEFAULTS))
    assert seen == []


def test_a_decision_is_of_the_run_that_was_started_for_it(layout: Layout) -> None:
    given = {"action": "redo", "increment": 3, "exclude": ["a.csv ", ""], "reason": " closed "}
    request = resolution_of(context_of("manual", params=given, by="ada"), by="bob")
    assert fix_request(layout.run("run-1"), request) == read_request(layout.run("run-1"))
    assert fixed(layout) == RunRequest(
        role="redo", increment=3, exclude=("a.csv",), by="bob", reason="closed"
    )
