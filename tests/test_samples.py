"""The generators of sample input: repeatable, in order, and with rows that come late."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest

from tidemill.contract.project import REPOSITORY
from tidemill.samples import (
    ad_clicks,
    devices,
    retail_daily,
    sensors,
    unique_events,
    windowed_words,
    word_count,
)

GENERATORS = [ad_clicks, devices, retail_daily, sensors, unique_events, windowed_words, word_count]
OF_EVENTS = [ad_clicks, devices, sensors, unique_events, windowed_words]
FILES = range(1, 5)


def name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def write(generator: ModuleType, folder: Path, **seed: int) -> dict[str, bytes]:
    """What it writes, in the order in which Spark reads it."""
    for number in FILES:
        generator.write_file(folder, number, **seed)
    files = [path for path in folder.rglob("*") if path.is_file()]
    files.sort(key=lambda path: path.stat().st_mtime_ns // 1_000_000)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("generator", GENERATORS, ids=name)
def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(
    tmp_path: Path, generator: ModuleType
) -> None:
    first = write(generator, tmp_path / "first")
    assert write(generator, tmp_path / "second") == first
    assert write(generator, tmp_path / "third", seed=8) != first


@pytest.mark.parametrize("generator", GENERATORS, ids=name)
def test_files_are_read_in_the_order_in_which_they_were_written(
    tmp_path: Path, generator: ModuleType
) -> None:
    folders: dict[Path, list[str]] = {}
    for file in map(Path, write(generator, tmp_path)):
        folders.setdefault(file.parent, []).append(file.name)
    assert all(files == sorted(files) and len(files) == len(FILES) for files in folders.values())


@pytest.mark.parametrize("generator", OF_EVENTS, ids=name)
def test_events_come_late_and_out_of_order(tmp_path: Path, generator: ModuleType) -> None:
    content = list(write(generator, tmp_path).values())[-1]
    said = [datetime.fromisoformat(json.loads(line)["at"]) for line in content.splitlines()]
    assert said != sorted(said)
    assert max(said) - min(said) > generator.PERIOD


def test_a_generator_is_a_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tidemill.samples.word_count", str(tmp_path), "--files", "2"]
    subprocess.run(command, check=True, cwd=REPOSITORY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["001.txt", "002.txt"]
