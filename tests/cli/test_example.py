"""`tidemill example` lists the shipped pipelines and copies one into a project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tidemill.contract.errors import ExitCode
from tidemill.contract.examples import EXAMPLES
from tidemill.contract.project import REPOSITORY, Project
from tidemill.spec.catalog import find, shown_spec_files
from tidemill.spec.load import load_spec

OWN = "my_{}"


def test_every_shipped_pipeline_is_an_example_with_a_description(tidemill: Tidemill) -> None:
    shipped = {path.stem for path in Project(REPOSITORY).specs.glob("*.yaml")}
    about = tidemill("example", "list", "--json").json
    assert about.keys() == EXAMPLES.keys() == shipped
    assert all(about.values())
    modules = {f"{name}.py" for name in EXAMPLES.values() if name}
    samples = REPOSITORY / "spark_jobs" / "tidemill" / "samples"
    assert modules <= {path.name for path in samples.glob("*.py")}


@pytest.mark.parametrize("name", ["retail", "customer_hours", "word_count_kafka"])
def test_a_copy_is_a_pipeline_of_its_own(tidemill: Tidemill, tmp_path: Path, name: str) -> None:
    answer = tidemill("example", "copy", name, "--to", str(tmp_path), "--json")
    assert answer.exit_code == ExitCode.DONE
    own, copied = Project(tmp_path), OWN.format(name)
    environ = {"TIDEMILL_PROJECTS": str(tmp_path)}
    assert find(copied, environ).project == own
    files = [own.spec(copied), own.transform(copied), own.suite(copied)]
    assert answer.json == [str(path) for path in files]
    assert load_spec(files[0]) == load_spec(Project(REPOSITORY).spec(name))
    assert files[1].read_text() == Project(REPOSITORY).transform(name).read_text()
    assert json.loads(files[2].read_text())["name"] == copied


@pytest.mark.parametrize(
    "given",
    [
        ["retial", "--to", "own"],
        ["retail", "--as", "Retail!", "--to", "own"],
        # An example has this name, and each pipeline has a folder under the root.
        ["retail", "--as", "shop_orders", "--to", "own"],
        # There is no project to copy it to.
        ["retail"],
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_written(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEMILL_PROJECTS", raising=False)
    assert tidemill("example", "copy", *given).exit_code == ExitCode.USAGE
    assert not (tmp_path / "own").exists()


def test_a_second_copy_overwrites_nothing(tidemill: Tidemill, tmp_path: Path) -> None:
    command = ("example", "copy", "retail", "--to", str(tmp_path))
    assert tidemill(*command).exit_code == ExitCode.DONE
    spec = Project(tmp_path).spec(OWN.format("retail"))
    spec.write_text("mine")
    assert tidemill(*command).exit_code == ExitCode.USAGE
    assert spec.read_text() == "mine"


@pytest.mark.parametrize(
    ("shown", "examples"),
    [
        (None, {"shop_orders"}),
        ("", set()),
        ("retail, activity", {"retail", "activity"}),
        ("all", set(EXAMPLES)),
    ],
)
def test_airflow_shows_the_demo_and_the_examples_that_were_asked_for(
    tmp_path: Path, shown: str | None, examples: set[str]
) -> None:
    own = Project(tmp_path)
    own.specs.mkdir(parents=True)
    own.spec("mine").write_text("sources: {}\n")
    environ = {"TIDEMILL_PROJECTS": str(tmp_path)}
    if shown is not None:
        environ["TIDEMILL_EXAMPLES"] = shown
    assert {one.name for one in shown_spec_files(environ)} == {"mine"} | examples
