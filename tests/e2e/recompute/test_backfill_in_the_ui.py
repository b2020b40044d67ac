"""What a person does in Airflow's UI, in a real browser: dry run, backfill, release, a late feed.

The scheduler runs meanwhile, on PostgreSQL. One Airflow for the whole module; the tests are the
chapters of one history, in order. Screenshots of each step are left in `.artefacts/`.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from playwright.sync_api import Browser, expect

from tests.browser.accessibility import complaints
from tests.browser.airflow_ui import AirflowUI
from tests.browser.keyboard import Keyboard
from tests.servers.postgres import Postgres
from tests.support.airflow.running_airflow import Airflow, Person, running, until
from tests.support.airflow.statsd_receiver import StatsdReceiver
from tests.support.pipelines import daily_feed
from tests.support.pipelines.daily_feed import DailyFeed
from tests.support.pipelines.daily_orders import (
    MENDED,
    ROWS,
    day,
    deliver,
    expected,
    files,
    midnight,
)
from tests.support.pipelines.orders_pipeline import NAME, SPEC, OrdersPipeline
from tidemill.contract.project import REPOSITORY
from tidemill.contract.report import Outcome, read
from tidemill.increments.increments import State
from tidemill.increments.snapshot import Snapshot

PICTURES = REPOSITORY / ".artefacts" / "backfill-in-the-ui"
RESOLVE, APPROVE = f"{NAME}__resolve", "approve"
ADA = Person("ada", secrets.token_urlsafe(12))
DAYS = range(1, 8)
BAD_DAY = 8
AGAIN = range(4, 6)
WHY = "a double was ten times too small"


def scheduled(number: int) -> str:
    """The id of a day's run."""
    return f"scheduled__{midnight(number).isoformat()}"


def partitions(days: range) -> list[list[str]]:
    return [[day(number).isoformat()] for number in days]


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory, spark: object) -> OrdersPipeline:
    """Seven days are published, each by its run; since, the rule was fixed and a day is held."""
    spec = json.loads(json.dumps(SPEC))
    spec["schedule"] = "@daily"
    spec["airflow"] = {"retry_delay": "1s"}
    spec["sources"]["orders"]["maxFilesPerTrigger"] = 4
    mill = OrdersPipeline(tmp_path_factory.mktemp("ui"), spec)
    for number in DAYS:
        deliver(mill, number, quantity=number)
        assert mill.run(scheduled(number))["publish"].outcome is Outcome.DONE
    (mill.home / f"project/spark_jobs/transforms/{NAME}.py").write_text(MENDED)
    deliver(mill, BAD_DAY, quantity=-1)
    assert mill.run("second")["gate"].outcome is Outcome.HELD
    return mill


@pytest.fixture(scope="module")
def feed(mill: OrdersPipeline) -> DailyFeed:
    """A feed that should come every day, and came three days ago."""
    feed, then = DailyFeed(mill.home), datetime.now(UTC) - timedelta(days=3)
    feed.arrive("first", then)
    assert feed.run("first")["publish"].outcome is Outcome.DONE
    feed.was_read(then)
    return feed


@pytest.fixture(scope="module")
def statsd() -> Iterator[StatsdReceiver]:
    with StatsdReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def airflow(
    mill: OrdersPipeline,
    feed: DailyFeed,
    statsd: StatsdReceiver,
    postgres: Postgres,
    child_airflow: Path,
) -> Iterator[Airflow]:
    database = postgres.dsn(postgres.fresh_database())
    home = mill.home / "airflow"
    environ = {**mill.environ, **statsd.settings}
    with running(home, environ, database=database, person=ADA) as airflow:
        dags = (NAME, RESOLVE, daily_feed.NAME)
        until(lambda: all(map(airflow.knows, dags)), "the DAGs are parsed")
        airflow.has_run(NAME, midnight(DAYS.start), midnight(DAYS.stop - 1))
        # At once there is a live run, which finds nothing new.
        airflow.patch(f"/dags/{NAME}", {"is_paused": False})
        yield airflow


@pytest.fixture(scope="module")
def ui(airflow: Airflow, browser: Browser) -> AirflowUI:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    ui = AirflowUI(browser, airflow.url, PICTURES)
    ui.log_in(ADA)
    return ui


def ended(airflow: Airflow, run_id: str, dag: str = NAME) -> str | None:
    """The state of a run that has ended."""
    runs = {run["dag_run_id"]: run["state"] for run in airflow.runs(dag)}
    state: str | None = runs.get(run_id)
    return state if state in ("success", "failed") else None


def of(days: range, rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({row: count for row, count in rows.items() if row[3].day in days})


def approve(airflow: Airflow, ui: AirflowUI, run_id: str) -> str | None:
    """Approve as often as somebody is asked, until the run has ended; its state.

    An answer that comes before the process that asked is gone, Airflow loses: the scheduler takes
    that process's end for one of the task, which has gone on meanwhile, and tries it again.
    """
    answered: set[int] = set()

    def question_or_end() -> int | str | None:
        task = airflow.get(f"/dags/{RESOLVE}/dagRuns/{run_id}/taskInstances/{APPROVE}")
        asked = task["state"] == "awaiting_input" and task["try_number"] not in answered
        return int(task["try_number"]) if asked else ended(airflow, run_id, RESOLVE)

    while isinstance(found := until(question_or_end, "somebody is asked, or it is done"), int):
        answer = ui.decide(RESOLVE, run_id, APPROVE, "Approve")
        assert answer["responded_by"]["name"] == ADA.name
        answered.add(found)
    return found


def test_a_dry_run_by_the_form_says_what_would_change_and_changes_nothing(
    mill: OrdersPipeline, airflow: Airflow, ui: AirflowUI
) -> None:
    before, version = files(mill), DeltaTable(mill.layout.table).version()
    run = ui.trigger(
        NAME,
        {
            "Mode": "backfill",
            "From": day(AGAIN.start),
            "To": day(AGAIN.stop),
            "Dry run": True,
            "Reason": WHY,
        },
    )
    run_id = run["dag_run_id"]
    assert until(lambda: ended(airflow, run_id), "the dry run has ended") == "success"
    ui.open("dags", NAME, "runs", run_id, "tasks", "ingest")
    ui.page.get_by_text("would be added").wait_for()
    ui.page.keyboard.press("w")  # wraps the log's lines
    ui.picture("dry-run")

    report = read(mill.layout.run(run_id), "ingest")
    assert report is not None
    found = report.facts["dry_run"]
    assert found["partitions"] == partitions(AGAIN)
    # Rows without a key are not known to be the same ones.
    rows = ROWS * len(AGAIN)
    assert (found["added"], found["removed"], found["changed"]) == (rows, rows, 0)
    assert found["inputs"] == len(DAYS)
    assert DeltaTable(mill.layout.table).version() == version
    assert files(mill) == before


def test_a_backfill_of_days_that_have_run_swaps_them_and_no_other_file(
    mill: OrdersPipeline, airflow: Airflow, ui: AirflowUI
) -> None:
    before, sealed = files(mill), {one.sealed.run_id for one in Snapshot(mill.layout).increments}
    ui.backfill(NAME, day(AGAIN.start), day(AGAIN.stop - 1), "All Runs")
    again = [scheduled(number) for number in AGAIN]
    until(lambda: all(ended(airflow, run_id) for run_id in again), "they were reprocessed")
    assert {ended(airflow, run_id) for run_id in again} == {"success"}
    types = {run["dag_run_id"]: run["run_type"] for run in airflow.runs(NAME)}
    assert [types[run_id] for run_id in again] == ["backfill"] * len(again)
    ui.open("dags", NAME, "runs")
    ui.page.get_by_text(again[0]).first.wait_for()
    ui.picture("runs")
    ui.open("dags", NAME, "runs", again[0], "tasks", "doctor")
    ui.page.get_by_text("This run is a backfill").wait_for()
    ui.picture("what-it-understood")

    after, inside = files(mill), {value for (value,) in partitions(AGAIN)}
    assert after.keys() == before.keys()
    changed = {value for value in after if after[value] != before[value]}
    assert changed == inside
    assert not any(after[value].keys() & before[value].keys() for value in inside)
    good = expected(mill, mended=AGAIN)
    assert of(AGAIN, mill.published()) == of(AGAIN, good)
    assert mill.published() == of(DAYS, good)
    # What they published as live runs stays in the books.
    assert {one.sealed.run_id for one in Snapshot(mill.layout).increments} == {
        *sealed,
        *(f"{run_id}.reprocessed-1" for run_id in again),
    }


def test_a_reprocessed_run_that_is_cleared_is_that_backfill_and_changes_nothing(
    mill: OrdersPipeline, airflow: Airflow
) -> None:
    version, run_id = DeltaTable(mill.layout.table).version(), scheduled(AGAIN.start)
    cleared = {"dag_run_id": run_id, "dry_run": False, "only_failed": False}
    airflow.post(f"/dags/{NAME}/clearTaskInstances", cleared)
    until(lambda: not ended(airflow, run_id), "it is queued")
    assert until(lambda: ended(airflow, run_id), "it was repeated") == "success"
    assert set(airflow.states(NAME, run_id).values()) == {"skipped"}
    assert DeltaTable(mill.layout.table).version() == version


def test_an_asset_event_names_the_partition_of_each_run(
    airflow: Airflow, mill: OrdersPipeline, ui: AirflowUI
) -> None:
    events = airflow.asset_events()
    told = [e["extra"] for e in events if e["extra"].get("recomputation") == "backfill"]
    told.sort(key=lambda one: int(one["version"]))
    assert [one["partition_by"] for one in told] == [["day"]] * len(AGAIN)
    assert [value for one in told for value in one["partitions"]] == partitions(AGAIN)
    assert told[-1]["version"] == DeltaTable(mill.layout.table).version()
    ui.open("dags", NAME, "runs", scheduled(AGAIN.start), "tasks", "publish", "asset_events")
    ui.unfold(f'"{day(AGAIN.start)}"')
    ui.picture("asset-event")


def test_the_list_of_pipelines_shows_what_is_held_in_airflows_own_light_and_leads_to_it(
    ui: AirflowUI,
) -> None:
    for theme in ("light", "dark"):
        ui.choose_theme(theme)
        listed = ui.open_from_navigation("Tidemill")
        row = listed.get_by_role("row").filter(has_text=NAME)
        row.get_by_text(re.compile(r"Increment \d+ is held")).wait_for()
        assert row.get_by_role("cell").first.inner_text().split()[-1] == "held"
        expect(listed.locator("html")).to_have_css("color-scheme", theme)
        ui.picture(f"pipelines-{theme}")
    ui.choose_theme("light")
    listed = ui.open_from_navigation("Tidemill")
    listed.get_by_label("State").select_option("held")
    listed.get_by_role("button", name="Filter").click()
    listed.get_by_text("1 of 2 pipelines").wait_for()
    # The frame leaves it to the window to open a page of Airflow's own.
    row.get_by_role("link", name=f"DAG {NAME}").click()
    ui.page.wait_for_url(f"{ui.url}/dags/{NAME}")


def held_number(mill: OrdersPipeline) -> int:
    increments = Snapshot(mill.layout).increments
    (number,) = (one.number for one in increments if one.state is State.HELD)
    return number


def test_a_keyboard_alone_leads_from_the_list_to_the_form_of_what_is_held(
    mill: OrdersPipeline, ui: AirflowUI
) -> None:
    page, keys, number = ui.page, Keyboard(ui.page), f"{held_number(mill):06d}"
    ui.open("tidemill", "pipelines")
    keys.follow(page.get_by_role("link", name="Skip to the content"))
    keys.choose(page.get_by_label("State"), "held")
    keys.follow(page.get_by_role("button", name="Filter"))
    page.get_by_text("1 of 2 pipelines").wait_for()
    assert complaints(page) == []
    keys.follow(page.get_by_role("link", name=NAME, exact=True))
    page.get_by_role("heading", name=NAME, exact=True).wait_for()
    assert complaints(page) == []
    ui.picture("pipeline")
    keys.follow(page.get_by_role("link", name=number, exact=True).first)
    page.get_by_role("heading", name=f"Increment {number} of {NAME}").wait_for()
    keys.fill(page.get_by_label("Reason to release it"), WHY)
    keys.tab_to(page.get_by_role("button", name="Release", exact=True))
    assert complaints(page) == []
    ui.picture("form-by-keyboard")


def test_a_held_increment_is_released_on_its_page_and_the_history_names_who_did_it(
    mill: OrdersPipeline, airflow: Airflow, ui: AirflowUI
) -> None:
    number = held_number(mill)
    why = "returns, which the suite does not know"
    ui.open("tidemill", "pipelines", NAME, "increments", str(number))
    ui.page.get_by_text("expect_column_values_to_be_between").first.wait_for()
    ui.picture("held-increment")
    run_id = ui.decide_on_page("Release", why)
    assert approve(airflow, ui, run_id) == "success"
    ui.open("dags", RESOLVE, "runs", run_id)
    ui.page.get_by_text("publish").first.wait_for()
    ui.picture("released")
    ui.open("tidemill", "dags", RESOLVE, "runs", run_id)
    ui.page.get_by_role("link", name=f"Increment {number:06d}", exact=True).wait_for()
    ui.picture("run")
    in_tab = ui.page.frame_locator("iframe")
    ui.open("dags", RESOLVE, "runs", run_id, "plugin", "tidemill_run")
    in_tab.get_by_role("heading", name=f"Run {run_id}").wait_for()
    ui.picture("tab-of-the-run")
    ui.open("dags", NAME, "plugin", "tidemill_pipeline")
    in_tab.get_by_role("heading", name=NAME, exact=True).wait_for()
    ui.picture("tab-of-the-dag")
    in_tab.get_by_role("link", name="second", exact=True).first.click()
    in_tab.get_by_role("heading", name="Run second").wait_for()

    assert mill.published() == expected(mill, mended=[*AGAIN, BAD_DAY])
    history = DeltaTable(mill.layout.table).history()
    release = json.loads(history[0]["tidemill.release"])
    assert (release["increment"], release["by"], release["reason"]) == (number, ADA.name, why)
    recomputations = [
        json.loads(e["tidemill.recomputation"]) for e in history if "tidemill.recomputation" in e
    ]
    assert {one["kind"] for one in recomputations} == {"backfill"}


def test_an_overdue_feed_is_seen_on_the_page_and_counted_until_something_arrives(
    feed: DailyFeed, airflow: Airflow, statsd: StatsdReceiver, ui: AirflowUI
) -> None:
    airflow.patch(f"/dags/{feed.name}", {"is_paused": False})
    run_id = ui.trigger(feed.name, {})["dag_run_id"]
    assert until(lambda: ended(airflow, run_id, feed.name), "the run has ended") == "failed"
    listed = ui.open_from_navigation("Tidemill")
    row = listed.get_by_role("row").filter(has_text=f"DAG {feed.name}")
    row.get_by_text("nothing arrived since").wait_for()
    assert row.get_by_role("cell").first.inner_text().split()[-1] == "overdue"
    ui.picture("overdue-feed")
    refusals = f"airflow.tidemill.refusals.{feed.name}.FeedOverdue:1|c"
    until(lambda: refusals in statsd.lines, "the refusal is counted")
    age = until(
        lambda: statsd.gauge(f"last_arrival_age_seconds.{feed.name}.visits"), "the age is told"
    )
    assert timedelta(seconds=age) > timedelta(days=3)

    feed.arrive("second")
    assert feed.run("second")["publish"].outcome is Outcome.DONE
    ui.open_from_navigation("Tidemill").get_by_role("row").first.wait_for()
    row.get_by_text("version 1").wait_for()
    assert row.get_by_role("cell").first.inner_text().split()[-1] == "fine"
    ui.picture("feed-is-back")
