"""The set-up: what the lock files hold, and what a person sees whose Python does not do."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = [ROOT / "requirements.lock", ROOT / "requirements-setup.lock"]


def pins_of(lock: Path) -> dict[str, str]:
    """Each requirement of a lock file, without its hashes, by name and marker."""
    pins = re.findall(r"^([\w.-]+)==(\S+)(.*?)\\$", lock.read_text(), re.MULTILINE)
    return {f"{name}{marker.rstrip()}": version for name, version, marker in pins}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_line_of_a_lock_is_a_pin_or_a_hash(lock: Path) -> None:
    pin = re.compile(r"[\w.-]+==[\w.+!]+( ; .+)? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    lines = lock.read_text().splitlines()
    assert [line for line in lines if not (pin.fullmatch(line) or digest.fullmatch(line))] == []


def test_both_locks_agree() -> None:
    everything, installer = (pins_of(lock) for lock in LOCKS)
    assert {"uv", "setuptools", "wheel"} <= installer.keys()
    assert installer.items() <= everything.items()


def test_no_other_package_writes_into_the_folder_of_pyspark() -> None:
    assert packages_distributions()["pyspark"] == ["pyspark"]


def test_whatever_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    users = [lines for extra, lines in extras.items() if extra not in ("all", "dev")]
    lines = [*project["dependencies"], *chain.from_iterable(users)]
    declared = {re.split(r"[=<>~\[]", line)[0].lower() for line in lines}
    own = {"spark_jobs", "tidemill", "tidemill_airflow", *sys.stdlib_module_names}
    distributions = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)}: {module}"
        for folder in ("spark_jobs", "plugins", "dags")
        for path in (ROOT / folder).rglob("*.py")
        for module in _imported(path) - own
        if not declared & {_normal(name) for name in distributions.get(module, ())}
    }
    assert undeclared == set()


def _normal(name: str) -> str:
    """A distribution's name as PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    source = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {module.partition(".")[0] for module in plain | source}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a clone as `make` needs before it has a Python."""
    for name in ("Makefile", "pyproject.toml", *(lock.name for lock in LOCKS)):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def a_python(folder: Path, version: str) -> Path:
    """A `python3` that is too old to be asked for more than its version."""
    python = folder / "python3"
    python.write_text(f'#!/bin/sh\n[ "$1" = -V ] && echo "Python {version}" || exit 1\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("target", ["setup", "demo", "test", "check"])
def test_an_old_python_gets_one_sentence(clone: Path, target: str) -> None:
    run = _make(clone, target, f"PYTHON={a_python(clone, '3.9.18')}")
    said = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert run.returncode == 2
    assert len(said) == 1
    assert "3.9.18" in said[0]
    assert not (clone / ".venv").exists()


def test_a_python_that_is_not_there_gets_one_sentence(clone: Path) -> None:
    run = _make(clone, "setup", "PYTHON=no-such-python")
    said = [line for line in run.stderr.splitlines() if not line.startswith("make")]
    assert run.returncode == 2
    assert len(said) == 1
    assert "no-such-python" in said[0]


def test_make_alone_lists_the_targets(clone: Path) -> None:
    listed = re.findall(r"make ([a-z-]+)", _make(clone).stdout)
    assert {"setup", "demo", "up", "test", "check", "test-one", "bench"} <= set(listed)


def _make(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Not what the `make` that may have started these tests was given.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=clone, env=environ, capture_output=True, text=True, check=False
    )
