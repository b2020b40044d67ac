"""`tidemill.yaml` marks a project, which a command finds from its working directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.spec_text import MINIMAL
from tidemill.contract.errors import ExitCode, SpecError, UsageError
from tidemill.contract.project import Project, enter_project, project_above
from tidemill.spec.root import RootMissing, existing_root, root


def project(home: Path, text: str = "") -> Project:
    """A project with a `tidemill.yaml`."""
    made = Project(home.resolve())
    made.specs.mkdir(parents=True)
    made.file.write_text(text)
    return made


def test_the_project_of_a_folder_is_the_nearest_one_upwards(tmp_path: Path) -> None:
    outer = project(tmp_path / "outer")
    inner = project(outer.home / "teams" / "inner")
    assert project_above(inner.specs) == inner
    assert project_above(inner.home.parent) == outer
    assert project_above(tmp_path) is None


def test_the_variable_adds_projects_to_the_one_of_the_working_directory(tmp_path: Path) -> None:
    mine, other = project(tmp_path / "mine"), project(tmp_path / "other")
    environ = {"TIDEMILL_PROJECTS": str(other.home)}
    for _ in range(2):
        enter_project(mine.specs, environ)
    assert environ == {"TIDEMILL_PROJECTS": f"{mine.home}{os.pathsep}{other.home}"}


def test_outside_of_every_project_nothing_changes(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    enter_project(tmp_path, environ)
    assert environ == {}


def test_the_root_of_a_project_is_relative_to_its_file(tmp_path: Path) -> None:
    mine = project(tmp_path / "mine", "root: ../data\n")
    named = {"TIDEMILL_PROJECTS": str(mine.home)}
    assert root(named) == tmp_path.resolve() / "data"
    assert root({**named, "TIDEMILL_ROOT": "/srv/tidemill"}) == Path("/srv/tidemill")


def test_two_projects_with_roots_of_their_own_leave_it_to_the_variable(tmp_path: Path) -> None:
    one, two = project(tmp_path / "1", "root: data\n"), project(tmp_path / "2", "root: data\n")
    named = {"TIDEMILL_PROJECTS": f"{one.home}{os.pathsep}{two.home}"}
    with pytest.raises(UsageError) as error:
        root(named)
    assert (error.value.path, error.value.other) == (two.file, one.file)
    assert root({**named, "TIDEMILL_ROOT": "/srv/tidemill"}) == Path("/srv/tidemill")


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("tidemill: 1\nrot: data\n", 2, "rot"),
        ("tidemill: 2\n", 1, "tidemill"),
        ("\nroot: [data]\n", 2, "root"),
        ("root: data\nroot: data\n", 2, "root"),
        ("- root\n", 1, None),
    ],
)
def test_what_a_project_file_may_not_say(
    tmp_path: Path, text: str, line: int, field: str | None
) -> None:
    mine = project(tmp_path / "mine", text)
    with pytest.raises(SpecError) as error:
        root({"TIDEMILL_PROJECTS": str(mine.home)})
    assert (error.value.path, error.value.line, error.value.field) == (mine.file, line, field)


def test_a_root_that_does_not_exist_is_not_read_as_empty(tmp_path: Path) -> None:
    with pytest.raises(RootMissing) as error:
        existing_root({"TIDEMILL_ROOT": str(tmp_path / "none")})
    assert error.value.root == str(tmp_path / "none")


def test_a_command_finds_the_project_that_it_is_typed_in(tmp_path: Path) -> None:
    mine = project(tmp_path / "mine", "root: data\n")
    mine.spec("clicks").write_text(MINIMAL)
    environ = {n: v for n, v in os.environ.items() if not n.startswith("TIDEMILL_")}
    command = (sys.executable, "-c", "from tidemill.cli import main; main()", "status", "--json")

    def status() -> subprocess.CompletedProcess[str]:
        where = {"cwd": mine.specs, "env": environ}
        return subprocess.run(command, capture_output=True, text=True, check=False, **where)

    refused = status()
    assert refused.returncode == ExitCode.USAGE
    assert json.loads(refused.stdout)["code"] == "RootMissing"
    (mine.home / "data").mkdir()
    found = json.loads(status().stdout)["pipelines"]
    assert [one["pipeline"] for one in found] == ["clicks"]
