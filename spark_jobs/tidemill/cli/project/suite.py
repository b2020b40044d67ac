"""`tidemill suite`: a suite proposed from published rows."""

from __future__ import annotations

from typing import Annotated

from typer import Option, Typer

from tidemill.cli.project.expectations import show_expectations
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.counted import counted
from tidemill.spec.pipeline import open_pipeline

suite = Typer(
    name="suite", help="Propose the suite of a pipeline from its rows.", no_args_is_help=True
)

Write = Annotated[bool, Option("--write", help="Write it into the pipeline's project.")]


@suite.command("infer")
def infer(
    name: PipelineName, write: Write = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Propose a suite from published rows: nulls, ranges, sets and uniqueness.

    Examples:
      tidemill suite infer tides
      tidemill suite infer tides --write
    """
    from tidemill.steps.authoring.infer_suite import infer_suite, own_suite, write_suite

    screen = Screen(json)
    pipeline = open_pipeline(name)
    with screen.busy("reading the table …"):
        found = infer_suite(pipeline)
    if not write:
        screen.document(found.suite)
        return
    if dry_run:
        plan = [f"write {own_suite(pipeline)}"]
        show_dry_run(screen, plan, pipeline=name, suite=found.suite)
        return
    path = write_suite(pipeline, found)
    if json:
        screen.document({"file": str(path), "version": found.version, "suite": found.suite})
        return
    screen.line(f"wrote {path}, from {counted(found.rows or 0, 'row')} of version {found.version}")
    show_expectations(screen, found.suite["expectations"])
