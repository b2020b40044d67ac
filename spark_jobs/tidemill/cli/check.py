"""`tidemill check`: everything that is wrong with specs, transforms, suites and DAGs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit

from tidemill.cli.completion import pipelines
from tidemill.cli.screen import Json, Screen
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode

if TYPE_CHECKING:
    from tidemill.steps.read_only.check import Problem

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME",
        help="The pipelines.",
        show_default="all",
        autocompletion=pipelines,
    ),
]


def check(names: Names = None, json: Json = False) -> None:
    """Find mistakes in specs, transforms, suites and DAGs; no JVM, no database, no data.

    Examples:
      tidemill check                  # every pipeline
      tidemill check tides --json
    """
    from tidemill.steps.read_only.check import check as check_pipelines
    from tidemill.steps.read_only.dag_integrity import airflow_installed, check_dags
    from tidemill.steps.read_only.spec_notes import spec_notes

    screen = Screen(json)
    problems = check_pipelines(names or ())
    with_dags = airflow_installed()
    if with_dags:
        with screen.busy("checking the DAGs …"):
            problems += [problem for problem in check_dags(names or ()) if problem not in problems]
    notes = [*spec_notes(names or ())]
    if json:
        found = [asdict(problem) for problem in problems]
        screen.document({"problems": found, "notes": notes, "dags_checked": with_dags})
    else:
        if not with_dags:
            screen.line("Airflow is not installed: the DAGs were not checked.")
        if problems:
            rows = ((_shown(p.file), p.line, _what(p), p.remedy) for p in problems)
            screen.table(
                counted(len(problems), "problem"), ("file", "line", "what", "remedy"), rows
            )
        else:
            screen.line("No problems.")
        for note in notes:
            screen.line(note)
    certain = [problem for problem in problems if not problem.warning]
    raise Exit(int(ExitCode.USAGE if certain else ExitCode.DONE))


def _what(problem: Problem) -> str:
    return f"warning: {problem.what}" if problem.warning else problem.what


def _shown(file: Path) -> Path:
    """Relative to the working directory where it is below it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
