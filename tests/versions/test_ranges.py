"""What pyproject.toml asks of an environment: ranges, whose lower end can be installed."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.version import Version

from tests.test_setup import LOCKS, pins_of
from tests.versions.ranges import floor, ranges


def test_no_range_is_an_exact_pin() -> None:
    operators = {str(one): {part.operator for part in one.specifier} for one in ranges()}
    assert {line: found for line, found in operators.items() if not found <= {">=", "<"}} == {}


def test_each_range_has_a_lower_end() -> None:
    assert [str(one) for one in ranges() if floor(one) is None] == []


def test_each_range_holds_the_locked_version() -> None:
    pins: dict[str, set[str]] = {}
    for name, version in pins_of(LOCKS[0]).items():
        # A few packages have one for each of two markers, as in `numpy ; python_version < '3.12'`.
        pins.setdefault(name.split(" ;")[0], set()).add(version)
    assert [
        f"{one} does not hold {version}"
        for one in ranges()
        for version in pins[one.name]
        if not one.specifier.contains(version)
    ] == []


def test_the_lower_end_of_a_range_is_read() -> None:
    assert floor(Requirement("pyspark[connect]<4.3,>=4.2")) == "4.2"
    assert floor(Requirement("pyspark~=4.2")) is None
    assert Version("4.2") == Version("4.2.0")
