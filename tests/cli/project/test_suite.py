"""`tidemill suite infer` proposes what published rows have held, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, row
from tidemill.contract.errors import ExitCode
from tidemill.gate.suite import load_suite

ROWS = [row(number, text="odd" if number % 2 else "even") for number in range(1, 41)]


@pytest.fixture
def published(history: History) -> History:
    history.increment(ROWS)
    history.publish()
    return history


def test_a_suite_holds_what_all_published_rows_hold(tidemill: Tidemill, published: History) -> None:
    suite = tidemill("suite", "infer", "orders").json
    found = {
        (one["type"].removeprefix("expect_column_values_to_"), one["kwargs"]["column"]): one
        for one in suite["expectations"]
    }
    assert {("be_unique", "id"), ("not_be_null", "text"), ("be_in_set", "text")} <= set(found)
    assert found["be_in_set", "text"]["kwargs"]["value_set"] == ["even", "odd"]
    amounts = found["be_between", "amount"]["kwargs"]
    assert (amounts["min_value"], amounts["max_value"]) == (0, 100)
    assert {one["meta"]["rows"] for one in found.values()} == {len(ROWS)}
    assert not published.project.suite("orders").exists()


def test_it_is_written_once_and_loads(tidemill: Tidemill, published: History) -> None:
    answer = tidemill("suite", "infer", "orders", "--write", "--json")
    assert answer.exit_code == ExitCode.DONE
    path = Path(answer.json["file"])
    assert path == published.project.suite("orders")
    assert load_suite(path).raw == answer.json["suite"]
    again = tidemill("suite", "infer", "orders", "--write", "--json")
    assert (again.exit_code, again.json["code"]) == (ExitCode.USAGE, "FileExists")


def test_the_values_of_a_masked_column_are_in_no_suite(
    tidemill: Tidemill, published: History
) -> None:
    published.write_spec(more="gate: {mask: [text, amount]}")
    suite = tidemill("suite", "infer", "orders").json
    masked = {
        one["type"]
        for one in suite["expectations"]
        if one["kwargs"].get("column") in ("text", "amount")
    }
    assert masked == {"expect_column_values_to_not_be_null"}


@pytest.mark.remedy("NoPublishedRows")
def test_before_anything_is_published_there_is_nothing_to_propose(
    tidemill: Tidemill, history: History
) -> None:
    history.increment(ROWS)
    answer = tidemill("suite", "infer", "orders", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoPublishedRows")
    history.publish()
    assert tidemill("suite", "infer", "orders", "--json").exit_code == ExitCode.DONE
