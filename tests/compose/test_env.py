"""The `.env` of docker-compose.yaml, as `make env` writes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compose.composition import used_variables, written_env
from tidemill.contract.project import REPOSITORY
from tidemill_airflow.local import compose_env


def test_make_env_writes_every_variable_and_none_more(tmp_path: Path) -> None:
    used = used_variables()
    assert written_env(tmp_path).keys() == used.keys()
    assert set(used.values()) == {":?run make env"}


def test_an_env_is_for_its_owner_alone_and_never_overwritten(tmp_path: Path) -> None:
    first = written_env(tmp_path)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert written_env(tmp_path) == first
    assert [path.name for path in tmp_path.glob(".env*")] == [".env"]


def test_each_env_has_secrets_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, two = (written_env(tmp_path / name) for name in ("a", "b"))
    settings = {name for name in one if name.endswith("_PORT")}
    settings |= {"TIDEMILL_UID", "AIRFLOW_EXECUTOR", "STATSD_ON"}
    assert {name for name in one if one[name] == two[name]} == settings
    assert all(re.fullmatch(r"[\w=-]{24,}", one[name]) for name in one.keys() - settings)


def test_an_env_of_an_older_file_is_named_with_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("TIDEMILL_UID=1000\n")
    assert compose_env.main(["--folder", str(tmp_path)]) == 2
    assert "JWT_SECRET" in capsys.readouterr().err
    assert (tmp_path / ".env").read_text() == "TIDEMILL_UID=1000\n"


def test_the_env_is_made_without_our_packages(tmp_path: Path) -> None:
    script = REPOSITORY / "plugins" / "tidemill_airflow" / "local" / "compose_env.py"
    subprocess.run([sys.executable, "-I", "-S", script, "--folder", tmp_path], check=True)
    assert (tmp_path / ".env").exists()


def test_git_ignores_the_env() -> None:
    ignored = subprocess.run(["git", "check-ignore", ".env"], cwd=REPOSITORY, check=False)
    assert ignored.returncode == 0
