"""Which tests `make test` runs: a choice by recorded durations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tiers import BUDGET, HEAVY, LONGEST, Unit, first_tier, marks_of


def heavy(name: str, seconds: float) -> Unit:
    return Unit(name, Path(name.split("::")[0]), seconds, is_light=False)


def names(*units: Unit) -> set[str]:
    return {unit.name for unit in first_tier(units)}


def test_light_tests_and_the_demo_are_always_there_however_long_they_take() -> None:
    light = Unit("light.py", Path("light.py"), 10 * BUDGET, is_light=True)
    assert names(light, heavy("demo", 10 * BUDGET)) == {"light.py", "demo"}


def test_each_file_has_one_test_before_any_file_has_a_second() -> None:
    many = [heavy(f"a.py::{number}", 1.0) for number in range(int(BUDGET))]
    chosen = names(*many, heavy("b.py::only", LONGEST))
    assert "b.py::only" in chosen
    assert len(chosen) == BUDGET - LONGEST + 1


def test_what_is_too_long_is_left_out() -> None:
    assert names(heavy("a.py", LONGEST + 1), heavy("b.py", LONGEST)) == {"b.py"}


def test_recorded_times_of_what_is_chosen_stay_within_the_budget() -> None:
    units = [heavy(f"{number}.py", LONGEST) for number in range(2 * int(BUDGET / LONGEST))]
    assert sum(unit.seconds for unit in first_tier(units)) <= BUDGET


@pytest.mark.usefixtures("child_jvm")
def test_a_test_has_the_marks_of_its_fixtures(request: pytest.FixtureRequest) -> None:
    item = request.node
    assert {mark.name for mark in item.iter_markers()} & HEAVY == {"jvm"} == marks_of(item)


def test_what_has_not_begun_in_time_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile("def test_one():\n    pass\n\ndef test_two():\n    pass\n")
    pytester.runpytest("--minutes", "0").assert_outcomes(skipped=2)
    pytester.runpytest("--minutes", "60").assert_outcomes(passed=2)
