"""A project that `tidemill init` has made, and data that this repository has never seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity

CITIES = ("Leeds", "York", "Hull")
PARCELS = 60


@pytest.fixture
def home(tmp_path: Path, tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without the example, with the environment of commands set to it."""
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    home = tmp_path / "mills"
    answer = tidemill("init", str(home), "--no-example")
    assert answer.exit_code == ExitCode.DONE, answer
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(home))
    monkeypatch.setenv("TIDEMILL_ROOT", str(home / ".tidemill" / "root"))
    return home


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A CSV file with semicolons, a dot in a name, keys, and texts with a comma."""
    lines = ["parcel;weight.kg;City;postcode;picked_up;note"]
    for number in range(PARCELS):
        city = CITIES[number % 3]
        note = "" if number % 10 else '"late, again"'
        lines.append(
            f"P{number:04d};{number / 4:.2f};{city};{number * 7:05d};"
            f"2026-03-0{number % 2 + 1}T0{number % 10}:30:00;{note}"
        )
    path = tmp_path / "feed" / "2026-03-01.csv"
    path.parent.mkdir()
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A file of JSON lines with nested values, a name of MongoDB's, and a line cut short."""
    rows = [
        {
            "_id": number,
            "who": {"name": f"u{number % 7}", "age": number} if number else None,
            "pages": ["a", "b"],
            "when": f"2026-01-0{number % 9 + 1} 10:00:00Z",
            "seconds": number if number % 2 else number * 1.5,
        }
        for number in range(40)
    ]
    path = tmp_path / "visits.jsonl"
    path.write_text("\n".join([*map(json.dumps, rows), '{"_id": 40, "wh']) + "\n")
    return path
