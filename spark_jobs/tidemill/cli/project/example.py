"""`tidemill example`: the pipelines of this repository, to be read, run and copied."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from tidemill.cli.completion import examples
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.examples import EXAMPLES
from tidemill.contract.project import SHIPPED, Project
from tidemill.spec.load import load_spec
from tidemill.steps.authoring.copy_example import copy_example

example = Typer(
    name="example",
    help="List the example pipelines, or copy one into your own project.",
    no_args_is_help=True,
)

Example = Annotated[
    str,
    Argument(metavar="EXAMPLE", help="An example.", show_default=False, autocompletion=examples),
]
As = Annotated[
    str | None, Option("--as", metavar="NAME", help="The name of the copy; my_EXAMPLE without it.")
]
To = Annotated[
    Path | None,
    Option(
        "--to", metavar="FOLDER", help="Your project; without it the first of TIDEMILL_PROJECTS."
    ),
]


@example.command("list")
def list_examples(json: Json = False, csv: Csv = False) -> None:
    """List the examples, and what each of them shows.

    Examples:
      tidemill example list
    """
    screen = Screen(json, csv)
    specs = {name: load_spec(Project(SHIPPED).spec(name)) for name in EXAMPLES}
    about = {name: spec.description_line for name, spec in specs.items()}
    if json:
        screen.document(about)
        return
    screen.table("", ("example", "what it shows"), about.items())


@example.command("copy")
def copy(
    name: Example,
    as_name: As = None,
    to: To = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Copy an example's spec, transform and suite into your own project.

    Examples:
      tidemill example copy windowed_words --as my_words
    """
    screen = Screen(json)
    own = as_name or f"my_{name}"
    files = copy_example(name, own, to.resolve() if to else None, write=not dry_run)
    if dry_run:
        show_dry_run(screen, (f"write {path}" for path in files), pipeline=own)
        return
    if json:
        screen.document([str(path) for path in files])
        return
    for path in files:
        screen.line(str(path))
    sample = EXAMPLES[name]
    if sample is not None:
        screen.line(f"Input for it: python -m tidemill.samples.{sample} FOLDER")
