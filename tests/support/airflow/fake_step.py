"""Stands in for the steps' program: leaves the report that a test wants, in its very form."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidemill.contract import report as reports
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.report import Outcome, Report, Step
from tidemill_airflow.operators.child_step import StepCommand

# Small, because a process that imports Airflow takes seconds to start.
SCRIPT = """
import pathlib, sys
path, text, code = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("tidemill: one line of the step")
if text:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
sys.exit(code)
"""


def report_of(step: Step, outcome: Outcome, **more: Any) -> Report:
    """A report with every field filled."""
    now = datetime.now(UTC)
    fields = {"reason": f"{step} is {outcome}", **more}
    return Report(
        pipeline="orders",
        run_id="run-1",
        step=step,
        outcome=outcome,
        started=now,
        finished=now,
        **fields,
    )


def leaving(runs: Path, report: Report | None, exit_code: int | None = None) -> StepCommand:
    """A step's command that leaves a report, or none."""
    code = (report.exit_code if report else 1) if exit_code is None else exit_code

    def command(step: Step, pipelines: Sequence[str], run_id: str) -> tuple[str, ...]:
        text = report.model_dump_json() if report else ""
        path = reports.path_of(runs / run_id, step)
        return (sys.executable, "-c", SCRIPT, str(path), text, str(int(code)))

    return command


def error(code: str, *, transient: bool = False) -> Mapping[str, Any]:
    """What a report holds of an error of this name."""
    kind = type(code, (TransientError if transient else TidemillError,), {})
    return kind("It broke.", remedy="Do this.").as_dict()
