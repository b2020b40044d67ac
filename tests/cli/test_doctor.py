"""`tidemill doctor` looks as a run would, and gives monitoring an exit code."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.file_feed import FileFeed
from tests.support.histories.history_builder import History, rows
from tidemill.contract.errors import ExitCode


@pytest.fixture
def published(history: History, tidemill: Tidemill) -> History:
    """A pipeline that has published everything, under a root that is known."""
    tidemill("init")
    history.increment(rows(1))
    history.publish()
    return history


def test_what_waits_is_said_and_nothing_is_taken_in(published: History, tidemill: Tidemill) -> None:
    published.arrive("new.csv", "id,at\n3,\n")

    answer = tidemill("doctor", "orders", "--json")

    (found,) = answer.json["pipelines"]
    assert (answer.exit_code, answer.json["exit_code"]) == (ExitCode.DONE, ExitCode.DONE)
    assert (found["report"]["outcome"], found["standing"]["state"]) == ("done", "waiting")
    assert found["standing"]["sources"][0]["new"] == 1
    assert published.ledger.latest() == 0


def test_a_refusal_is_one_of_all_pipelines_and_its_exit_code_that_of_the_command(
    published: History, tidemill: Tidemill
) -> None:
    (published.inputs / "f0000.csv").write_text("id,at\n9,\n10,\n")
    (published.layout.root / "shop_orders").mkdir()

    answer = tidemill("doctor", "--json")

    standings = [one["standing"] for one in answer.json["pipelines"]]
    states = {one["pipeline"]: one["state"] for one in standings}
    assert (answer.exit_code, states["orders"]) == (ExitCode.REFUSED, "refused")
    assert "shop_orders" in states


def test_with_states_named_only_these_are_an_error(published: History, tidemill: Tidemill) -> None:
    (published.inputs / "f0000.csv").write_text("id,at\n9,\n10,\n")

    assert tidemill("doctor", "orders", "--fail-on", "held").exit_code == ExitCode.DONE
    assert tidemill("doctor", "orders", "--fail-on", "refused").exit_code == ExitCode.REFUSED


def test_a_file_source_that_falls_behind_is_an_error_where_it_is_asked_for(
    history: History, tidemill: Tidemill
) -> None:
    tidemill("init")
    FileFeed(history).grow(minutes=58)

    assert tidemill("doctor", "orders", "--fail-on", "behind").exit_code == ExitCode.FAILED
    assert tidemill("status", "orders", "--fail-on", "behind").exit_code == ExitCode.FAILED
    assert tidemill("status", "orders", "--fail-on", "overdue").exit_code == ExitCode.DONE


def test_a_look_leaves_the_report_of_one_run_however_often_it_is_made(
    published: History, tidemill: Tidemill
) -> None:
    before = {path.name for path in published.layout.runs.iterdir()}
    for _ in range(3):
        tidemill("doctor", "orders")
    assert len({path.name for path in published.layout.runs.iterdir()} - before) == 1


def test_one_pipeline_and_all_do_not_go_together(published: History, tidemill: Tidemill) -> None:
    assert tidemill("doctor", "orders", "--all").exit_code == ExitCode.USAGE
