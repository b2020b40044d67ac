"""Each side imported in a fresh process: lint cannot see what a library pulls in by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPARK = ROOT / "spark_jobs"
HEAVY = ("airflow", "great_expectations", "pyspark")
PROBE = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def modules_of(package: str, folder: Path) -> list[str]:
    """The dotted names of a package's own modules."""
    files = sorted((folder / package.replace(".", "/")).rglob("*.py"))
    names = [".".join(file.relative_to(folder).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def loaded(modules: list[str], home: Path) -> set[str]:
    """The top-level packages in memory after importing modules in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(modules)],
        env={**os.environ, "AIRFLOW_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("package", "folder", "allowed"),
    [
        ("tidemill.contract", SPARK, set()),
        ("tidemill.ledger", SPARK, set()),
        ("tidemill.publish", SPARK, set()),
        ("tidemill.cli", SPARK, set()),
        ("tidemill.engine", SPARK, {"pyspark"}),
        ("tidemill.gate", SPARK, {"pyspark", "great_expectations"}),
        ("tidemill.steps", SPARK, {"pyspark", "great_expectations"}),
        ("tidemill_airflow", ROOT / "plugins", {"airflow"}),
    ],
)
def test_a_side_loads_nothing_of_the_others(
    package: str, folder: Path, allowed: set[str], tmp_path: Path
) -> None:
    modules = modules_of(package, folder)
    assert len(modules) > 1
    assert loaded(modules, tmp_path) & set(HEAVY) <= allowed


@pytest.mark.parametrize("step", ["doctor", "publish"])
def test_a_step_without_a_jvm_loads_neither_spark_nor_great_expectations(
    step: str, tmp_path: Path
) -> None:
    assert not loaded([f"tidemill.steps.{step}", "tidemill.main"], tmp_path) & set(HEAVY)


def test_the_dag_file_loads_neither_spark_nor_great_expectations(tmp_path: Path) -> None:
    found = loaded(["dags.pipelines"], tmp_path)
    assert "airflow" in found
    assert not found & {"great_expectations", "pyspark", "deltalake", "pyarrow"}


def test_the_probe_sees_what_is_loaded(tmp_path: Path) -> None:
    assert "pyspark" in loaded(["tidemill.engine.query.reject"], tmp_path)
