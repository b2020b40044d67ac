"""Which marks a test has, which tests `make test` runs, and in what order.

A test's marks follow from its fixtures and their parameters. `make test` runs a first tier: every
test without a JVM, server or Airflow, every test of the demo, and then of each file the quickest
tests that fit into a budget of recorded time. `make test-rest` runs the others. The times are those
in `durations.json`, which `make durations` writes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidemill.contract.project import REPOSITORY

DURATIONS = REPOSITORY / "tests" / "durations.json"
MARKS = {
    "spark": {"jvm"},
    "child_jvm": {"jvm"},
    "child_airflow": {"jvm", "airflow"},
    "airflow_database": {"airflow"},
    "demo": {"jvm", "airflow"},
    "broker": {"jvm", "server"},
    "postgres": {"server"},
    "s3": {"jvm", "server"},
    "iceberg_rest": {"jvm", "server"},
    "glue": {"server"},
    "hive_metastore": {"jvm", "server"},
    "iceberg_metastore": {"jvm", "server"},
    "mariadb": {"server"},
    "azurite": {"server"},
    "mysql": {"server"},
    "warehouse": {"server"},
    "browser": {"browser"},
}
HEAVY = frozenset(mark for marks in MARKS.values() for mark in marks)
# Process-seconds of tests with a heavy mark in `make test`; two processes share them.
BUDGET = 900.0
# What runs as one piece and takes longer is left to `make test-rest`.
LONGEST = 60.0
# Seconds. What takes less is not recorded, and so is a test that is newer than the record.
RECORDED_FROM = 1.0
UNRECORDED = 0.4


@dataclass(frozen=True)
class Unit:
    """Tests that must run in one process, one after the other.

    Args:
        name: The id of a test, a file or `demo`.
        file: That holds them.
        seconds: As recorded.
        is_light: They need no JVM, server, Airflow or browser.
        items: In the order of their file.
    """

    name: str
    file: Path
    seconds: float
    is_light: bool
    items: Sequence[pytest.Item] = ()


def marks_of(item: pytest.Item) -> set[str]:
    """The marks that an item's fixtures and their parameters give it."""
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    of_parameters = HEAVY & {mark.name for mark in item.iter_markers()}
    return of_parameters | {mark for name in fixtures for mark in MARKS.get(name, ())}


def unit_of(item: pytest.Item) -> str:
    """What an item has to stay together with: its file if that has fixtures of its own to share."""
    file = item.nodeid.split("::")[0]
    info = getattr(item, "_fixtureinfo", None)
    definitions = [one for found in info.name2fixturedefs.values() for one in found] if info else []
    if "demo" in getattr(item, "fixturenames", ()):
        return "demo"
    shares = any(one.scope in ("module", "class", "package") for one in definitions)
    return file if shares or not marks_of(item) else item.nodeid


def units_of(items: Sequence[pytest.Item], durations: dict[str, float]) -> list[Unit]:
    """All units, the longest first; those that are not recorded keep their order."""
    found: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[unit_of(item)].append(item)
    units = [
        Unit(
            name,
            members[0].path,
            durations.get(name, UNRECORDED * len(members)),
            not any(marks_of(item) for item in members),
            members,
        )
        for name, members in found.items()
    ]
    return sorted(units, key=lambda unit: -unit.seconds)


def first_tier(units: Iterable[Unit]) -> Iterator[Unit]:
    """The units that `make test` runs."""
    left = BUDGET
    ranked: list[tuple[int, float, Unit]] = []
    ranks: dict[Path, int] = defaultdict(int)
    for unit in sorted(units, key=lambda unit: unit.seconds):
        if unit.is_light:
            yield unit
        elif unit.name == "demo":
            left -= unit.seconds
            yield unit
        elif unit.seconds <= LONGEST:
            ranked.append((ranks[unit.file], unit.seconds, unit))
            ranks[unit.file] += 1
    for _, seconds, unit in sorted(ranked, key=lambda one: one[:2]):
        if seconds <= left:
            left -= seconds
            yield unit


class Recorder:
    """A pytest plugin that adds up how long units take, and writes it down at the end."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        unit = dict(report.user_properties).get("unit")
        # A single test does not pay for the servers that it happens to be the first to need.
        if isinstance(unit, str) and (report.when == "call" or unit != report.nodeid):
            self._seconds[unit] += report.duration

    def pytest_sessionfinish(self) -> None:
        found = recorded() | {unit: round(seconds, 1) for unit, seconds in self._seconds.items()}
        kept = {
            unit: seconds
            for unit, seconds in found.items()
            if seconds >= RECORDED_FROM
            and (unit == "demo" or (REPOSITORY / unit.split("::")[0]).is_file())
        }
        DURATIONS.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")


def recorded() -> dict[str, float]:
    """Unit -> its seconds."""
    found: dict[str, float] = json.loads(DURATIONS.read_text())
    return found
