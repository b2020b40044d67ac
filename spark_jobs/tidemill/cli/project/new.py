"""`tidemill new`: a pipeline made from real data."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from typer import Argument, BadParameter, Exit, Option

from tidemill.cli.project.expectations import show_expectations
from tidemill.cli.screen import Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.spec.formats.table import FileFormat

if TYPE_CHECKING:
    from tidemill.steps.authoring.new_pipeline import NewPipeline
    from tidemill.steps.read_only.checks.problem import Problem

Name = Annotated[
    str, Argument(metavar="NAME", help="The name of the new pipeline.", show_default=False)
]
From = Annotated[
    Path,
    Option(
        "--from",
        metavar="FILE|FOLDER|kafka:TOPIC",
        help="A file of the feed, the folder where its files arrive, or a topic.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    Option("--format", help=f"One of {', '.join(get_args(FileFormat))}; guessed without it."),
]
ConnId = Annotated[
    str, Option("--conn-id", help="The connection of a topic, in AIRFLOW_CONN_<NAME>.")
]
To = Annotated[
    Path | None,
    Option(
        "--to", metavar="FOLDER", help="Your project; without it the one that you are in or name."
    ),
]
NoTransform = Annotated[
    bool, Option("--no-transform", help="Publish the rows as they come: `transform: none`.")
]
Preview = Annotated[bool, Option("--preview", help="Then try it on the sample, with Spark.")]


def new(
    name: Name,
    place: From,
    format: Format = None,
    conn_id: ConnId = "tidemill_kafka",
    to: To = None,
    no_transform: NoTransform = False,
    preview: Preview = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make a pipeline's spec, transform and suite from a sample of its data.

    Examples:
      tidemill new tides --from feed/2026-03-01.csv
      tidemill new tides --from /srv/feeds/tides --no-transform --preview
      tidemill new orders --from kafka:orders --conn-id shop_kafka
    """
    from tidemill.steps.authoring.new_pipeline import new_pipeline
    from tidemill.steps.read_only.checks.all_checks import check

    if format is not None and format not in get_args(FileFormat):
        raise BadParameter(f"one of {', '.join(get_args(FileFormat))}", param_hint="--format")
    if json and preview:
        raise UsageError("--json and --preview exclude each other.", remedy="Give one of them.")
    if preview and str(place).startswith("kafka:"):
        raise UsageError(
            "A preview reads files, and --from is a topic.",
            remedy=f"Leave out --preview, and then try: tidemill stream {name} --show",
        )
    screen = Screen(json)
    with screen.busy("reading the sample …"):
        made = new_pipeline(
            name,
            place,
            format=format,
            conn_id=conn_id,
            folder=to,
            transform=not no_transform,
            write=not dry_run,
        )
    if dry_run:
        plan = (f"write {_shown(path)}" for path in made.files)
        schema = ", ".join(column.ddl for column in made.columns)
        show_dry_run(screen, plan, pipeline=name, schema=schema)
        return
    problems = check([name], _environment(made.project.home))
    if json:
        screen.document(
            {
                "pipeline": name,
                "files": [str(path) for path in made.files],
                "sample": [str(path) for path in made.sample],
                "rows": made.rows,
                "schema": ", ".join(column.ddl for column in made.columns),
                "event_time": made.time,
                "expectations": list(made.expectations),
                "notes": list(made.notes),
                "problems": [asdict(problem) for problem in problems],
            }
        )
    else:
        _show(screen, name, made, problems)
    if [problem for problem in problems if not problem.warning]:
        raise Exit(int(ExitCode.USAGE))
    if preview:
        from tidemill.cli.preview import preview as try_it

        os.environ.update(_environment(made.project.home))
        try_it(name, list(made.sample[-1:]))


def _environment(home: Path) -> dict[str, str]:
    """The environment in which the project is on the search path."""
    given = os.environ.get("TIDEMILL_PROJECTS", "").split(os.pathsep)
    homes = dict.fromkeys([*filter(None, given), str(home)])
    return {**os.environ, "TIDEMILL_PROJECTS": os.pathsep.join(homes)}


def _show(screen: Screen, name: str, made: NewPipeline, problems: list[Problem]) -> None:
    for path in made.files:
        screen.line(f"wrote {_shown(path)}")
    source = counted(len(made.sample), "file") if made.sample else made.reads
    screen.line(f"From {counted(made.rows, 'row')} of {source}; look it over:")
    screen.table("", ("column", "type"), ((column.name, column.type) for column in made.columns))
    if made.time is None:
        screen.line("No column has a time in each row, so there is no event time and no partition.")
    else:
        screen.line(f"{made.time} was taken for the event time; a partition is a day of it.")
    screen.line(f"It reads {made.reads}.")
    for note in made.notes:
        screen.line(f"look at {note}")
    show_expectations(screen, made.expectations)
    for problem in problems:
        screen.line(f"{_shown(problem.file)}: {problem.what}. {problem.remedy}")
    if not problems:
        screen.line("tidemill check: No problems.")
    if made.sample:
        sample = _shown(made.sample[-1])
        screen.line(f"Try it on the sample: tidemill preview {name} --input {sample}")
    else:
        screen.line(f"See its rows without publishing them: tidemill stream {name} --show")
    screen.line(f"Publish it: tidemill run {name}")


def _shown(path: Path) -> Path:
    """Relative to the working directory where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
