"""`tidemill check`: everything that is wrong with specs, transforms, suites and DAGs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.problem_formats import github_lines, junit_report
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.spec.catalog import spec_files

if TYPE_CHECKING:
    from tidemill.steps.read_only.checks.problem import Problem

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME",
        help="The pipelines.",
        show_default="all",
        autocompletion=pipelines,
    ),
]

Format = Annotated[
    Literal["text", "github", "junit"],
    Option("--format", help="For people, as annotations of GitHub Actions, or as a JUnit report."),
]


OnSpark = Annotated[
    bool,
    Option(
        "--spark",
        help="Also plan each pipeline on inputs without rows, in one Spark session.",
    ),
]


def check(
    names: Names = None,
    spark: OnSpark = False,
    format: Format = "text",
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Find mistakes in specs, transforms, suites and DAGs; no database, no data.

    Without --spark it starts no JVM. With it the columns of each result are known, and
    compared with the keys, partitions and suite.

    Examples:
      tidemill check                  # every pipeline of yours
      tidemill check --spark orders
      tidemill check --format github
      tidemill check --format junit > check.xml
    """
    from tidemill.gate.gx_internals.known_expectations import known_expectations
    from tidemill.steps.read_only.checks.all_checks import check as check_pipelines
    from tidemill.steps.read_only.checks.dag_integrity import airflow_installed, check_dags
    from tidemill.steps.read_only.checks.folded_rows import folded
    from tidemill.steps.read_only.checks.spec_notes import spec_notes

    screen = Screen(json, csv)
    if (json or csv) and format != "text":
        raise UsageError(
            f"{'--json' if json else '--csv'} and --format exclude each other.",
            remedy="Give one of them.",
            format=format,
        )
    problems = check_pipelines(names or ())
    if spark:
        from tidemill.steps.read_only.checks.planned_pipelines import check_planned

        with screen.busy("planning on Spark …"):
            problems = check_planned(names or (), problems)
    with_dags, with_suites = airflow_installed(), bool(known_expectations())
    if with_dags:
        with screen.busy("checking the DAGs …"):
            problems += [problem for problem in check_dags(names or ()) if problem not in problems]
    problems = folded(problems)
    notes = [*spec_notes(names or ())]
    if json:
        found = [asdict(problem) for problem in problems]
        parts = {"dags_checked": with_dags, "suites_checked": with_suites, "planned": spark}
        screen.document({"problems": found, "notes": notes, **parts})
    else:
        left_out = [] if with_dags else ["Airflow is not installed: the DAGs were not checked."]
        if not with_suites:
            left_out.append("Great Expectations is not installed: expectations were not checked.")
        if format == "text":
            _show(problems, left_out, notes, screen)
        elif format == "github":
            for line in github_lines(problems, [*left_out, *notes], _checkout()):
                screen.line(line)
        else:
            checked = [one.path for one in spec_files() if not names or one.name in names]
            screen.line(junit_report(problems, dict.fromkeys(checked), Path.cwd()))
    certain = [problem for problem in problems if not problem.warning]
    raise Exit(int(ExitCode.USAGE if certain else ExitCode.DONE))


def _show(
    problems: Sequence[Problem], left_out: Sequence[str], notes: Sequence[str], screen: Screen
) -> None:
    for line in left_out:
        screen.line(line)
    if problems or screen.as_csv:
        rows = ((_shown(p.file), p.line, _what(p), p.remedy) for p in problems)
        screen.table(counted(len(problems), "problem"), ("file", "line", "what", "remedy"), rows)
    else:
        screen.line("No problems.")
    for note in notes:
        screen.line(note)


def _checkout() -> Path:
    """The folder that GitHub's annotations name files relative to."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


def _what(problem: Problem) -> str:
    return f"warning: {problem.what}" if problem.warning else problem.what


def _shown(file: Path) -> Path:
    """Relative to the working directory where it is below it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
