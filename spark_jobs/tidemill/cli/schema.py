"""`tidemill schema`: the JSON Schema of specs, and the schema of a source from a sample."""

from typing import Annotated, get_args

from typer import Argument, BadParameter, Context, Option, Typer

from tidemill.cli.completion import pipelines
from tidemill.cli.screen import Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.counted import counted
from tidemill.spec import json_schema as specs
from tidemill.spec.formats.table import FileFormat

schema = Typer(
    name="schema", help="Print the JSON Schema of specs, or infer the schema of a source."
)

Write = Annotated[bool, Option("--write", help="Write it to where the specs refer to.")]
What = Annotated[
    list[str],
    Argument(
        metavar="NAME|FILE…",
        help="A pipeline, or files and folders.",
        show_default=False,
        autocompletion=pipelines,
    ),
]
Format = Annotated[
    str | None,
    Option("--format", help=f"The format of the files: {', '.join(get_args(FileFormat))}."),
]
Given = Annotated[
    list[str] | None,
    Option("--option", metavar="NAME=VALUE", help="An option of Spark's reader; repeatable."),
]
Source = Annotated[str | None, Option("--source", help="Which of the pipeline's sources.")]
Files = Annotated[int, Option("--files", min=1, help="Most files to look at, the newest first.")]


@schema.callback(invoke_without_command=True)
def print_schema(context: Context, write: Write = False, dry_run: DryRun = False) -> None:
    """Print the JSON Schema of specs, from which editors complete them.

    Examples:
      tidemill schema > spec.schema.json
    """
    if context.invoked_subcommand is not None:
        return
    screen = Screen()
    if write and dry_run:
        show_dry_run(screen, [f"write {specs.PATH}"])
    elif write:
        screen.line(str(specs.write(specs.PATH)))
    else:
        screen.document(specs.spec_schema())


@schema.command("infer")
def infer(
    what: What,
    format: Format = None,
    option: Given = None,
    source: Source = None,
    files: Files = 20,
    json: Json = False,
) -> None:
    """Write a schema from a sample, for a person to look over and put into the spec.

    Examples:
      tidemill schema infer feed/2026-03-01.csv --format csv
      tidemill schema infer tides --source gauges
    """
    from tidemill.steps.read_only.infer_schema import infer as make

    if format is not None and format not in get_args(FileFormat):
        raise BadParameter(f"one of {', '.join(get_args(FileFormat))}", param_hint="--format")
    screen = Screen(json)
    with screen.busy("infer …"):
        found, paths = make(
            what, format=format, options=_pairs(option or []), source=source, most_files=files
        )
    if json:
        screen.document(
            {
                "schema": found.ddl,
                "columns": [
                    {"name": one.name, "type": one.type, "notes": list(one.notes)}
                    for one in found.columns
                ],
                "notes": list(found.notes),
                "rows": found.rows,
                "files": [str(path) for path in paths],
            }
        )
        return
    screen.line(
        f"# Inferred by Spark from {counted(found.rows, 'row')} of "
        f"{counted(len(paths), 'file')}; look it over."
    )
    for note in found.notes:
        screen.line(f"# {note}")
    for one in found.columns:
        for note in one.notes:
            screen.line(f"# {one.name}: {note}")
    screen.line(f"schema: {_in_yaml(found.ddl)}")


def _pairs(given: list[str]) -> dict[str, str]:
    wrong = [one for one in given if "=" not in one]
    if wrong:
        raise BadParameter(f"'{wrong[0]}' is not NAME=VALUE", param_hint="--option")
    return dict(one.split("=", 1) for one in given)


def _in_yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
