"""Makes in an Airflow what Tidemill's DAGs need there, by Airflow's own commands."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tidemill.contract.errors import UsageError

POOL, CONNECTION, DAG_FILE = "tidemill", "tidemill_spark", "tidemill_pipelines.py"
LOADER = "tidemill_airflow.dag"
DAGS = f"""# A DAG for every pipeline on TIDEMILL_PROJECTS.
from {LOADER} import dags

globals().update({{dag.dag_id: dag for dag in dags()}})
"""


class AirflowRefused(UsageError):
    """A command of Airflow's failed; carries `command` and its `output`."""


@dataclass(frozen=True)
class Step:
    """One thing that Airflow needs.

    Args:
        what: Such as `pool tidemill`.
        outcome: `kept` where Airflow has had it already.
    """

    what: str
    outcome: Literal["made", "kept"]

    @property
    def sentence(self) -> str:
        verb = "made" if self.outcome == "made" else "kept"
        return f"{verb} {self.what} in Airflow"


def airflow_steps() -> tuple[Step, ...]:
    """Make the pool, the connection and the DAG file, where Airflow does not have them.

    Raises:
        UsageError: there is no Airflow here.
        AirflowRefused: it fails, such as for a database that is not set up.
    """
    slots = str(max(1, (os.cpu_count() or 1) // 2))
    about = "Pipelines at work; a slot per two cores"
    pool = ("pools", "set", POOL, slots, about)
    master = ("--conn-type", "spark", "--conn-host", "local[*]")
    connection = ("connections", "add", CONNECTION, *master)
    return (
        _step(f"pool {POOL}", ("pools", "get", POOL), pool),
        _step(f"connection {CONNECTION}", ("connections", "get", CONNECTION), connection),
        _dag_file(),
    )


def _step(what: str, get: tuple[str, ...], make: tuple[str, ...]) -> Step:
    if _airflow(*get).returncode == 0:
        return Step(what, "kept")
    ended = _airflow(*make)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise AirflowRefused(
            f"airflow {' '.join(make[:3])} failed: {said[-1] if said else 'it says nothing'}.",
            remedy="Set up Airflow's database first: airflow db migrate",
            command=["airflow", *make],
            output=ended.stderr,
        )
    return Step(what, "made")


def _dag_file() -> Step:
    asked = _airflow("config", "get-value", "core", "dags_folder")
    # Airflow may log before it answers.
    answer = asked.stdout.strip().splitlines()
    if asked.returncode != 0 or not answer:
        raise AirflowRefused(
            "airflow config get-value core dags_folder failed.",
            remedy="Name the folder of DAG files in airflow.cfg: [core] dags_folder",
            command=["airflow", "config", "get-value", "core", "dags_folder"],
            output=asked.stderr,
        )
    folder = Path(answer[-1])
    for path in sorted(folder.glob("*.py")):
        if f"from {LOADER} import dags" in path.read_text(errors="replace"):
            return Step(f"DAG file {path}", "kept")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / DAG_FILE
    path.write_text(DAGS)
    return Step(f"DAG file {path}", "made")


def _airflow(*arguments: str) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).with_name("airflow")
    found = str(beside) if beside.is_file() else shutil.which("airflow")
    if found is None:
        raise UsageError(
            "There is no airflow here.",
            remedy="Run this in Airflow's environment, or leave out --airflow.",
        )
    return subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
