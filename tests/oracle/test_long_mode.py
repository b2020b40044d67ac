"""The long mode: shares, and a run that goes on where an earlier one stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.oracle.long_mode import Plugin, is_of_share
from tests.oracle.numbered import play_one

TEST = "test_and_after_any_history"
HISTORIES = f"""
import os
import pytest

@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("name", ["word_count", "device_totals"])
def {TEST}(name, number, record_property):
    record_property("met", {{"rebuild": 1, "rewind": number}})
    assert (name, number) != ("word_count", 1) or os.environ.get("MENDED")

def test_without_histories():
    raise AssertionError
"""


def play(pytester: pytest.Pytester, folder: Path) -> dict[str, int]:
    """Play what is left; how many histories ended in which way."""

    class Registered:
        def pytest_configure(self, config: pytest.Config) -> None:
            config.pluginmanager.register(Plugin(config, folder))

    run = pytester.inline_run("-q", plugins=[Registered()])
    passed, _, failed = run.listoutcomes()
    return {"passed": len(passed), "failed": len(failed)}


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_only_what_has_not_passed_is_played_again(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(HISTORIES)
    assert play(pytester, tmp_path) == {"passed": 7, "failed": 1}
    first = summary(tmp_path)
    assert (first["histories"], first["failed"], first["share_done"]) == (8, 1, 1)
    assert [one.name for one in (tmp_path / "failures").iterdir()] == [f"{TEST}[word_count-1].txt"]
    totals, _ = first["pipelines"]
    assert totals["met"] == {"rebuild": 4, "rewind": 6}
    assert totals["never_met"] == ["forked"]

    monkeypatch.setenv("MENDED", "1")
    assert play(pytester, tmp_path) == {"passed": 1, "failed": 0}
    assert summary(tmp_path)["failed"] == 0


def test_a_line_that_a_killed_process_did_not_finish_is_played_again(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENDED", "1")
    pytester.makepyfile(HISTORIES)
    play(pytester, tmp_path)
    lines = tmp_path / "histories.jsonl"
    lines.write_text(lines.read_text()[:-20])
    assert play(pytester, tmp_path) == {"passed": 1, "failed": 0}


def test_each_history_belongs_to_one_share() -> None:
    for number in range(20):
        shares = [which for which in range(1, 9) if is_of_share(number, f"{which}/8")]
        assert len(shares) == 1


NUMBERS = st.lists(st.integers(0, 2**60), min_size=100)
PRINTED = f"""
from tests.oracle.numbered import play_one
from {__name__} import NUMBERS
import constants
play_one(NUMBERS, "a history", print, telling=any)
"""


def test_a_history_follows_from_its_number_whatever_a_process_has_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "constants.py").write_text(f"FOUND = {[*range(10_000, 10_100)]}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    elsewhere = subprocess.run([sys.executable, "-c", PRINTED], capture_output=True, check=True)
    here: list[list[int]] = []
    play_one(NUMBERS, "a history", here.append, telling=any)
    assert json.loads(elsewhere.stdout) == here[0]
