"""A result is printed and kept at once, and what a run needs is there before it starts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.measure import Cost
from tests.bench.results import Comparison, Results, Side
from tidemill.contract.project import REPOSITORY


def fast() -> Cost:
    return Cost(wall=1.0, cpu=2.0, memory=100.0)


def slow() -> Cost:
    return Cost(wall=4.0, cpu=4.0, memory=200.0)


def fails() -> Cost:
    raise RuntimeError("ingest ended with 1")


def sides() -> tuple[Side, Side]:
    return fast, slow


def test_a_result_outlives_the_failure_of_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = Results(tmp_path / "kept" / "bench.json", runs=2)
    results.measure(Comparison("small", sides, records=800))
    with pytest.raises(RuntimeError):
        results.measure(Comparison("great", lambda: (fast, fails)))
    (kept,) = json.loads(results.file.read_text())
    assert (kept["name"], kept["runs"], kept["records"]) == ("small", 2, 800)
    assert kept["ours"] == {"wall": 1.0, "cpu": 2.0, "memory": 100.0}
    assert kept["ratio"] == {"wall": 0.25, "cpu": 0.5, "memory": 0.5}
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].strip() for line in said] == [
        *("small", "pair 1 of 2", "pair 2 of 2", "ratio", "great")
    ]


def test_a_result_is_compared_with_the_last_one_and_the_others_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bench.json"
    first = Results(file, runs=1)
    first.measure(Comparison("small", sides))
    first.measure(Comparison("great", sides))
    capsys.readouterr()
    again = Results(file, runs=1)
    again.measure(Comparison("small", lambda: (slow, fast)))
    again.measure(Comparison("new", sides))
    assert again.last_cpu_ratio("small") == 0.5
    assert again.last_cpu_ratio("new") is None
    kept = {one["name"]: one["ratio"]["cpu"] for one in json.loads(file.read_text())}
    assert kept == {"small": 2.0, "great": 0.5, "new": 0.5}
    ratios = [line for line in capsys.readouterr().out.splitlines() if "ratio" in line]
    assert ["0.50 the last time" in line for line in ratios] == [True, False]


def test_missing_jars_are_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMILL_JARS", str(tmp_path))
    assert main(["--out", str(tmp_path / "bench.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "make jars" in said.err
    assert not (tmp_path / "bench.json").exists()


def test_make_fetches_them_first() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "bench"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    commands = planned.stdout.splitlines()
    (fetch,) = (n for n, line in enumerate(commands) if "tidemill.toolchain.jars" in line)
    (bench,) = (n for n, line in enumerate(commands) if "tests.bench" in line)
    assert fetch < bench
