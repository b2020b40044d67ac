"""When a JVM is told of the archive of Spark's classes, and that it loads them from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tidemill.toolchain.class_archive import (
    FLIGHT_RECORDER,
    JAVA_VARIABLES,
    RECORD,
    SUBMIT_OPTIONS,
    ArchiveNotWritten,
    ClassArchive,
    _key,
    submit_options,
    write_archive,
)
from tidemill.toolchain.java import java_home


class Environment:
    """A Python environment with jars, a Java, and a record of an archive; nothing of it runs."""

    def __init__(self, home: Path) -> None:
        self.python = str(home / "bin" / "python")
        self.java = home / "java"
        self.jars = home / "pyspark" / "jars"
        self.folder = home / "share" / "tidemill"
        for folder in (self.java, self.jars, self.folder):
            folder.mkdir(parents=True)
        (self.java / "release").write_text('JAVA_VERSION="17.0.15"\n')
        (self.jars / "spark-core.jar").write_text("classes")
        file = self.folder / "classes.jsa"
        file.touch()
        key = _key(self.java, self.jars)
        self.archive = ClassArchive(str(file), str(self.jars), str(self.java), key)
        self.record = self.folder / RECORD
        self.record.write_text(json.dumps(asdict(self.archive)))

    def options(self, **environ: str) -> str | None:
        return submit_options(environ, str(self.java), self.python).get(SUBMIT_OPTIONS)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def test_a_jvm_uses_the_archive_of_its_environment(environment: Environment) -> None:
    assert environment.options() == f"-XX:SharedArchiveFile={environment.archive.file}"


def test_the_callers_own_options_stay(environment: Environment) -> None:
    options = environment.options(SPARK_SUBMIT_OPTS="-Dport=7")
    assert options == f"-Dport=7 -XX:SharedArchiveFile={environment.archive.file}"


def test_an_archive_of_the_callers_own_is_left_alone(environment: Environment) -> None:
    assert environment.options(SPARK_SUBMIT_OPTS="-XX:SharedArchiveFile=/own.jsa") is None


@pytest.mark.parametrize("variable", JAVA_VARIABLES)
def test_a_jvm_that_records_its_flight_loads_its_classes_from_the_jars(
    variable: str, environment: Environment
) -> None:
    assert environment.options(**{variable: f"{FLIGHT_RECORDER}=duration=60s"}) is None


def test_an_application_that_records_its_flight_gets_no_archive(environment: Environment) -> None:
    java = str(environment.java)
    recorded = submit_options({}, java, environment.python, driver_options=FLIGHT_RECORDER)
    assert recorded == {}


@pytest.mark.parametrize("changed", ["jar", "more jars", "java", "gone", "torn", "no record"])
def test_an_archive_that_does_not_fit_is_not_named(environment: Environment, changed: str) -> None:
    match changed:
        case "jar":
            (environment.jars / "spark-core.jar").write_text("other classes")
        case "more jars":
            (environment.jars / "spark-more.jar").touch()
        case "java":
            (environment.java / "release").write_text('JAVA_VERSION="17.0.16"\n')
        case "gone":
            Path(environment.archive.file).unlink()
        case "torn":
            environment.record.write_text(environment.record.read_text()[:20])
        case "no record":
            environment.record.unlink()
    assert environment.options() is None


def test_another_java_or_spark_does_not_get_it(environment: Environment, tmp_path: Path) -> None:
    assert environment.options(SPARK_HOME=str(tmp_path / "pyspark")) is not None
    assert environment.options(SPARK_HOME="/opt/spark") is None
    assert submit_options({}, "/other/java", environment.python) == {}


def test_an_archive_that_is_there_is_not_made_again(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = replace(environment.archive, java=str(java_of(environment, monkeypatch)))
    assert write_archive(environment.python) == there


def test_a_folder_that_cannot_be_written_to_is_an_error_of_its_own(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_of(environment, monkeypatch)
    environment.record.unlink()
    (Path(environment.archive.file)).unlink()
    environment.folder.rmdir()
    environment.folder.touch()
    with pytest.raises(ArchiveNotWritten) as refused:
        write_archive(environment.python)
    assert str(environment.folder) in refused.value.what


@pytest.mark.usefixtures("child_jvm")
def test_spark_loads_its_classes_from_an_archive_that_was_made(tmp_path: Path) -> None:
    python = str(tmp_path / "environment" / "bin" / "python")
    archive = write_archive(python)
    assert write_archive(python) == archive
    assert {path.name for path in Path(archive.file).parent.iterdir()} == {
        Path(archive.file).name,
        RECORD,
    }
    loads = tmp_path / "loads"
    java = str(java_home(os.environ))
    options = submit_options({SUBMIT_OPTIONS: f"-Xlog:class+load:file={loads}"}, java, python)
    start = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().range(1)"
    environ = {**os.environ, **options, "JAVA_HOME": java}
    subprocess.run([sys.executable, "-c", start], env=environ, check=True, timeout=300)
    lines = [line for line in loads.read_text().splitlines() if "org.apache.spark." in line]
    shared = [line for line in lines if "source: shared objects file" in line]
    assert len(shared) > 0.9 * len([line for line in lines if "Lambda" not in line])


def java_of(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the environment's Java be the one that Spark would run on."""
    program = environment.java / "bin" / "java"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(environment.java))
    return environment.java
