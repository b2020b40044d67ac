"""`make test-versions`: the most telling tests at both ends of the ranges in pyproject.toml.

An environment of its own for each end, in `.versions`, whatever the lock files say. What tests need
besides is as locked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from packaging.version import Version

from tests.test_setup import LOCKS, pins_of
from tests.versions.ranges import NOT_FOR_USERS, floor, ranges
from tidemill.contract.project import REPOSITORY

ENDS = {"lowest": "lowest-direct", "newest": "highest"}
UV = Path(sys.executable).with_name("uv")
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "polars")
# The extra `all` does not have it.
TRIED = NOT_FOR_USERS | {"celery"}
TESTS = (
    # Every module is imported.
    "tests/test_boundaries.py",
    # The private parts of Spark, Airflow, its Spark provider and Great Expectations.
    "tests/engine/sources/test_protobuf_rows.py",
    "tests/engine/spark_internals",
    "tests/airflow/airflow_internals",
    "tests/gate/gx_internals",
    "tests/airflow/operators/test_driver_in_a_pod.py",
    "tests/airflow/operators/test_step_environment.py",
    "tests/airflow/operators/test_steps.py",
    "tests/gate/test_docs_view.py",
    "tests/gate/test_expectations_project.py",
    # A verdict, DAGs, commands, tables, and a whole run.
    "tests/gate/test_judge.py",
    "tests/gate/test_delivery.py",
    "tests/gate/test_equivalence.py",
    "tests/airflow/dags/test_shipped_dags.py",
    "tests/airflow/dags/test_shapes.py",
    "tests/airflow/dags/test_resolve.py",
    "tests/cli/test_check.py",
    "tests/publish/delta/test_upsert.py",
    "tests/publish/rejected/test_table.py",
    "tests/publish/iceberg",
    "tests/e2e/pipelines/test_words.py",
)


def main() -> int:
    """Try both ends, the second one too if the first fails."""
    return max([_try(end) for end in ENDS])


def _try(end: str) -> int:
    began = time.monotonic()
    environment = REPOSITORY / ".versions" / end
    python = environment / "bin" / "python"
    pins = pins_of(LOCKS[0])
    tools = [f"{tool}=={pins[tool]}" for tool in TOOLS]
    where = ("--python", str(python))
    try:
        _uv("venv", "--clear", "--python", sys.executable, str(environment))
        _uv("pip", "install", *where, "--resolution", ENDS[end], "--editable", ".[all]")
        _uv("pip", "install", *where, *tools)
    except subprocess.CalledProcessError as error:
        print(f"{end}: cannot be installed", file=sys.stderr)
        return int(error.returncode)
    installed = _installed(python)
    asked = {one.name: floor(one) for one in ranges(without=TRIED)}
    print(f"{end}: " + ", ".join(f"{name} {installed[name]}" for name in asked), flush=True)
    higher = [
        name
        for name, lowest in asked.items()
        if lowest is not None and Version(installed[name]) != Version(lowest)
    ]
    if end == "lowest" and higher:
        print(f"These cannot be as low as pyproject.toml says: {', '.join(higher)}.", flush=True)
        return 1
    command = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *TESTS]
    code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    print(f"{end}: {'passed' if code == 0 else 'failed'}, {time.monotonic() - began:.0f} s")
    return code


def _installed(python: Path) -> dict[str, str]:
    """Name -> version of each package."""
    command = [UV, "pip", "list", "--quiet", "--format", "json", "--python", python]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {one["name"]: one["version"] for one in json.loads(listed)}


def _uv(*arguments: str) -> None:
    subprocess.run([UV, "--quiet", *arguments], cwd=REPOSITORY, check=True)


if __name__ == "__main__":
    sys.exit(main())
