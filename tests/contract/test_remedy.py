"""A remedy is one that can be carried out where it is read: at a shell, or in Airflow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tidemill.contract.errors import Refused, TidemillError
from tidemill.contract.project import REPOSITORY
from tidemill.contract.remedy import for_airflow

ONLY_IN_AIRFLOW = re.compile(r"[Cc]lear the|\b(?:in|to) Airflow\b|\bDAG\b")


def remedies() -> Iterator[tuple[str, str]]:
    """Place -> the text of each remedy that a shell prints."""
    for path in sorted((REPOSITORY / "spark_jobs/tidemill").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg in ("remedy", "if_again"):
                place = f"{path.relative_to(REPOSITORY)}:{node.value.lineno}"
                yield place, ast.unparse(node.value)


def test_no_remedy_at_a_shell_needs_airflow() -> None:
    found = [
        place
        for place, text in remedies()
        # A command's own option --airflow is given where there is an Airflow.
        if ONLY_IN_AIRFLOW.search(text) and "cli/project/airflow_setup.py" not in place
    ]
    assert found == []
    assert len([*remedies()]) > 200


def test_a_remedy_of_airflow_s_own_is_read_there_alone() -> None:
    error = Refused("It has no suite.", remedy="Run it again.", remedy_in_airflow="Clear the gate.")
    assert str(error) == "It has no suite. Run it again."
    assert for_airflow(error.as_dict()) == "Clear the gate."


@pytest.mark.parametrize(
    ("remedy", "named"),
    [
        ("tidemill rebuild orders --reason TEXT.", ["orders__resolve", "rebuild"]),
        ("`tidemill backfill orders --from DAY --to DAY`", ["DAG orders "]),
        ("tidemill checkpoint repair orders", []),
    ],
)
def test_a_command_that_a_dag_carries_out_too_names_the_dag(remedy: str, named: list[str]) -> None:
    said = for_airflow(TidemillError("It stopped.", remedy=remedy).as_dict())
    assert said.startswith(remedy)
    assert all(name in said for name in named)
    assert ("DAG" in said) is bool(named)
