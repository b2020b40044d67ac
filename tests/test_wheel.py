"""The wheel, installed into an empty environment beside the locked packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    PathDistribution,
    distribution,
    version,
)
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tidemill.contract.project import REPOSITORY

LOCKED = Path(sysconfig.get_path("purelib"))
UV = Path(sys.executable).with_name("uv")
SOURCES = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "jars.lock"),
    *("spark_jobs", "plugins", "dags", "expectations"),
)


@dataclass(frozen=True)
class Installed:
    """An environment in which the wheel is installed, seen from a folder outside of the clone."""

    folder: Path

    @property
    def packages(self) -> Path:
        return next((self.folder / "env" / "lib").glob("python3*")) / "site-packages"

    def run(self, program: str, *arguments: str, exit_code: int = 0, **variables: str) -> str:
        """What a program of the environment prints."""
        ended = subprocess.run(
            [self.folder / "env" / "bin" / program, *arguments],
            env={**self._environ(), **variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == exit_code, ended.stdout + ended.stderr
        return ended.stdout

    def _environ(self) -> dict[str, str]:
        ours = ("PYTHON", "TIDEMILL_", "AIRFLOW_", "SPARK_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {
            **kept,
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "TIDEMILL_ROOT": str(self.folder / "root"),
            "TIDEMILL_PROJECTS": str(self.folder / "mills"),
        }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone, built by the locked build back end."""
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"
    clone.mkdir()
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, clone / name, ignore=skip)
        else:
            shutil.copy(source, clone)
    build = ("--wheel", "--no-build-isolation", "--python", sys.executable)
    _uv("build", *build, "--out-dir", str(folder), str(clone))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With every locked package, but not the clone's own."""
    one = install(wheel, tmp_path_factory.mktemp("all"))
    for package in LOCKED.iterdir():
        if "tidemill" not in package.name and not (one.packages / package.name).exists():
            (one.packages / package.name).symlink_to(package)
    return one


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Without any extra."""
    return with_extras(install(wheel, tmp_path_factory.mktemp("light")))


def with_extras(one: Installed, *extras: str) -> Installed:
    """Give an environment the locked packages that the wheel asks for, and what those ask for."""
    (metadata,) = one.packages.glob("tidemill-*.dist-info")
    asked = PathDistribution(metadata).requires or ()
    waiting, done = {(line, extra) for line in asked for extra in ("", *extras)}, set[str]()
    while waiting:
        line, extra = waiting.pop()
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        for more in ("", *wanted.extras):
            if f"{wanted.name}[{more}]" in done:
                continue
            done.add(f"{wanted.name}[{more}]")
            with suppress(PackageNotFoundError):
                package = distribution(wanted.name)
                waiting |= {(of_it, more) for of_it in package.requires or ()}
                link_files(package, one)
    return one


def link_files(package: Distribution, one: Installed) -> None:
    """Link what a locked package has installed: its folders, and its programs."""
    for file in package.files or ():
        top = file.parts[0]
        if top == "..":
            program = Path(str(package.locate_file(file))).resolve()
            link = one.folder / "env" / "bin" / program.name
            if program.parent.name != "bin" or link.exists():
                continue
            link.symlink_to(program)
        elif not (one.packages / top).exists():
            (one.packages / top).symlink_to(LOCKED / top)


def install(wheel: Path, folder: Path) -> Installed:
    python = folder / "env" / "bin" / "python"
    _uv("venv", "--python", sys.executable, str(folder / "env"))
    _uv("pip", "install", "--offline", "--no-deps", "--python", str(python), str(wheel))
    return Installed(folder)


def _uv(*arguments: str) -> None:
    ended = subprocess.run([UV, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_the_wheel_holds_every_shipped_file(installed: Installed) -> None:
    spark = ("data_sources", "targets", "transforms")
    folders = ("dags", "expectations", *(f"spark_jobs/{name}" for name in spark))
    clone = {Path("jars.lock")}.union(*(files_below(REPOSITORY, name) for name in folders))
    assert files_below(installed.packages / "tidemill" / "shipped") == clone


def files_below(home: Path, folder: str = ".") -> set[Path]:
    """The files that are read at run time, relative to `home`."""
    found = {path for path in (home / folder).rglob("*.*") if path.is_file()}
    return {path.relative_to(home) for path in found if path.suffix not in (".pyc", "")}


def test_a_copied_example_is_a_pipeline_without_mistakes(installed: Installed) -> None:
    files = json.loads(
        installed.run("tidemill", "example", "copy", "word_count", "--to", "mills", "--json")
    )
    assert all(Path(path).is_relative_to(installed.folder / "mills") for path in files)
    # It parses the DAG file in the wheel too, and finds the copy's DAG in it.
    found = json.loads(installed.run("tidemill", "check", "my_word_count", "--json"))
    assert found["problems"] == []
    assert found["dags_checked"]


def test_the_command_knows_its_version_and_paths(installed: Installed) -> None:
    assert installed.run("tidemill", "--version").split() == ["tidemill", version("tidemill")]
    paths = json.loads(installed.run("tidemill", "info", "--json"))["paths"]
    inside = ("package", "dag_file", "json_schema", "jars")
    assert all(Path(paths[name]).is_relative_to(installed.folder / "env") for name in inside)
    assert Path(paths["dag_file"]).is_file()


def test_an_error_is_explained_by_the_installed_page(installed: Installed) -> None:
    (found,) = json.loads(installed.run("tidemill", "explain", "DiskFull", "--json"))["errors"]
    assert (found["code"], found["kind"]) == ("DiskFull", "wait")


def test_samples_are_written_by_the_installed_generators(installed: Installed) -> None:
    installed.run("python", "-m", "tidemill.samples.word_count", "input", "--files", "2")
    assert {path.name for path in (installed.folder / "input").iterdir()} == {"001.txt", "002.txt"}


def test_jars_are_locked_and_kept_in_the_environment(installed: Installed) -> None:
    program = (
        "import json; from tidemill.toolchain import jars; "
        "print(json.dumps([str(jars.folder_of()), [*jars.all_sets()]]))"
    )
    folder, sets = json.loads(installed.run("python", "-c", program))
    assert Path(folder).is_relative_to(installed.folder / "env")
    assert "kafka" in sets


# What Airflow's processes see of the wheel, in one of them: importing Airflow takes seconds.
AIRFLOW = """
import json
from airflow.plugins_manager import _get_plugins, get_fastapi_plugins
from airflow.providers_manager import ProvidersManager
from tidemill_airflow.dag import dags
from tidemill.toolchain.engine_environment import APPLICATION

plugins, errors = _get_plugins()
manager = ProvidersManager()
print(json.dumps({
    "dags": [dag.dag_id for dag in dags()],
    "application": str(APPLICATION),
    "plugins": {str(plugin.name): str(plugin.source) for plugin in plugins},
    "errors": errors,
    "apps": [app["name"] for app in get_fastapi_plugins()[0]],
    "version": manager.providers["tidemill"].version,
}))
"""


def test_airflow_finds_dags_plugin_provider_and_steps_of_the_wheel(installed: Installed) -> None:
    found = json.loads(installed.run("python", "-c", AIRFLOW).splitlines()[-1])
    assert "shop_orders" in found["dags"]
    assert "tidemill" in found["plugins"]
    assert found["errors"] == {}
    assert "Tidemill" in found["apps"]
    assert found["version"] == version("tidemill")
    assert Path(found["application"]) == installed.packages / "tidemill" / "main.py"
    installed.run("python", found["application"], "--help")


def test_without_extras_the_command_checks_and_says_what_is_missing(light: Installed) -> None:
    light.run("tidemill", "example", "copy", "retail", "--to", "mills")
    found = json.loads(light.run("tidemill", "check", "my_retail", "--json"))
    assert found == {
        "problems": [],
        "notes": [],
        "dags_checked": False,
        "suites_checked": False,
        "planned": False,
    }
    said = json.loads(light.run("tidemill", "info", "--json"))
    absent = {name for name, installed in said["packages"].items() if installed is None}
    assert {"pyspark", "deltalake", "apache-airflow", "confluent-kafka"} <= absent
    assert any("tidemill[engine]" in one["remedy"] for one in said["missing"])
    (light.folder / "root").mkdir()
    refused = json.loads(light.run("tidemill", "doctor", "my_retail", "--json", exit_code=2))
    assert refused["code"] == "ExtraMissing"


# One run of a DAG as Airflow's task runner does it, in an Airflow without Spark.
RUN = """
import json
from importlib.util import find_spec
from airflow.dag_processing.dagbag import DagBag

run = DagBag().dags["my_word_count"].test()
print(json.dumps({
    "tasks": {task.task_id: str(task.state) for task in run.get_task_instances()},
    "engine": [name for name in ("pyspark", "great_expectations") if find_spec(name)],
}))
"""


@pytest.mark.jvm
@pytest.mark.airflow
def test_an_airflow_without_spark_runs_the_steps_in_a_second_environment(
    wheel: Path, tmp_path: Path
) -> None:
    engine = with_extras(install(wheel, tmp_path / "engine"), "engine")
    airflow = with_extras(install(wheel, tmp_path / "airflow"), "airflow")
    airflow.run("tidemill", "example", "copy", "word_count", "--to", "mills")
    feed = tmp_path / "word_count"
    engine.run("python", "-m", "tidemill.samples.word_count", str(feed), "--files", "2")
    root = tmp_path / "root"
    root.mkdir()
    where = {
        "TIDEMILL_ROOT": str(root),
        "TIDEMILL_PROJECTS": str(airflow.folder / "mills"),
        "TIDEMILL_INPUT": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(airflow.packages / "tidemill" / "shipped" / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__TIDEMILL__PYTHON": str(engine.folder / "env" / "bin" / "python"),
        "AIRFLOW_CONN_TIDEMILL_SPARK": '{"conn_type": "spark", "host": "local[2]"}',
    }
    airflow.run("python", "-m", "airflow", "db", "migrate", **where)
    found = json.loads(airflow.run("python", "-c", RUN, **where).splitlines()[-1])
    assert set(found["tasks"].values()) == {"success"}
    assert found["engine"] == []
    assert json.loads(engine.run("tidemill", "rows", "my_word_count", "--json", **where))
