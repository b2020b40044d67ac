"""Runs the DAG checks in a separate process, since this side never imports Airflow."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tidemill.contract.errors import TidemillError
from tidemill.steps.read_only.checks.problem import Problem

INTEGRITY = ("-m", "tidemill_airflow.integrity", "--json")
# Importing Airflow takes seconds, on a busy machine many.
TIME_LIMIT_SECONDS = 300


class IntegrityCheckBroke(TidemillError):
    """The check of the DAGs did not end with an answer; carries `exit_code` and `stderr`."""


def airflow_installed() -> bool:
    return find_spec("airflow") is not None


def check_dags(names: Sequence[str] = ()) -> list[Problem]:
    """Problems with the DAGs.

    Args:
        names: The pipelines to check; all where none is given.

    Raises:
        IntegrityCheckBroke: it ended without an answer, which says nothing about the DAGs.
    """
    ended = subprocess.run(
        (sys.executable, *INTEGRITY),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    try:
        found = [_problem(item) for item in json.loads(ended.stdout)["problems"]]
    except (ValueError, KeyError, TypeError) as error:
        last = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise IntegrityCheckBroke(
            f"The DAGs could not be checked (exit code {ended.returncode}): {last}",
            remedy=f"Look at: {sys.executable} {' '.join(INTEGRITY)}",
            exit_code=ended.returncode,
            stderr=ended.stderr,
        ) from error
    return [one for one in found if not names or one.file.stem in names or not _is_spec(one.file)]


def _problem(item: dict[str, Any]) -> Problem:
    return Problem.said(Path(item["file"]), item["line"], item["what"], item["remedy"])


def _is_spec(file: Path) -> bool:
    return file.suffix == ".yaml"
