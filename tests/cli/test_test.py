"""`tidemill test` and `tidemill.testing`: given rows, expected rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.testing import pipeline

TESTS = """
- name: the quantity is doubled
  given:
    orders:
      - {id: a, quantity: 2, at: 2026-03-01 10:00:00}
      - {id: b, quantity: 3, at: 2026-03-02 10:00:00}
  expect:
    rows:
      - {id: b, double: 6, day: 2026-03-02}
      - {id: a, double: 4, day: 2026-03-01}
    rejected: 0
    gate: passed
- name: a text for a quantity is malformed
  given: {orders: more.csv}
  expect: {rows: [], rejected: [malformed]}
- name: what does not hold is said
  given: {orders: [{id: a, quantity: 2, at: 2026-03-01 10:00:00}]}
  expect:
    rows: [{id: a, double: 5}]
    rejected: 1
    gate: held
"""


def write(mill: OrdersPipeline, text: str) -> Path:
    folder = mill.home / "project" / "tests"
    folder.mkdir(exist_ok=True)
    (folder / "more.csv").write_text("id,quantity,at\nc,many,2026-03-02 10:00:00\n")
    path = folder / f"{NAME}.yaml"
    path.write_text(text)
    return path


@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_each_test_passes_or_says_what_does_not_hold(
        self, tidemill: Tidemill, mill: OrdersPipeline
    ) -> None:
        write(mill, TESTS)
        answer = tidemill("test", NAME, "--json")
        assert answer.exit_code == ExitCode.FAILED
        assert [len(one["failures"]) for one in answer.json] == [0, 0, 4]

    def test_a_test_in_python_gets_the_values_themselves(self, mill: OrdersPipeline) -> None:
        given = [{"id": "a", "quantity": 2, "at": "2026-03-01 10:00:00"}]
        found = pipeline(NAME).preview(given)
        assert [(row["id"], row["double"]) for row in found.good] == [("a", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "tests: [",
        "- name: one",
        "- {name: one, given: {}, expect: {row: []}}",
        "- {name: one, given: {}, expect: {rows: [{a: 1}, {b: 2}]}}",
        "- &a {name: one, given: {}, expect: {}}\n- *a",
    ],
)
def test_a_file_that_holds_no_tests_is_refused(
    tidemill: Tidemill, mill: OrdersPipeline, text: str
) -> None:
    path = write(mill, text)
    answer = tidemill("test", NAME, "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "TestsInvalid")
    assert answer.json["data"]["path"] == str(path)


def test_a_column_that_the_source_lacks_is_refused(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    write(mill, "- {name: one, given: {orders: [{idd: a}]}, expect: {}}")
    assert tidemill("test", NAME, "--json").json["code"] == "GivenNotWritable"


def test_a_pipeline_without_tests_is_refused_by_name(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    assert tidemill("test", NAME, "--json").json["code"] == "TestsInvalid"
