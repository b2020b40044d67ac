"""`tidemill rename`: a pipeline goes on under another name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.upkeep.options import Apply
from tidemill.cli.write_rule import show_dry_run
from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.spec.catalog import find
from tidemill.spec.pipeline import Pipeline, open_pipeline

NewName = Annotated[str, Argument(metavar="NEW", help="The new name.", show_default=False)]


def rename(name: PipelineName, new: NewName, apply: Apply = False, json: Json = False) -> None:
    """Give a pipeline another name: folder, checkpoint, books and tables go on under it.

    Spec, transform and suite are yours to rename. Targets outside the root are not touched.

    Examples:
      tidemill rename tides sea_levels
      tidemill rename tides sea_levels --apply
    """
    from tidemill.steps.decisions.rename import plan_rename
    from tidemill.steps.decisions.rename import rename as rename_step

    screen, pipeline = Screen(json), _open(name, new)
    if not apply:
        plan = plan_rename(pipeline, new)
        phrases = [*plan.phrases(), *_left(name, new)]
        show_dry_run(screen, phrases, pipeline=name, renamed_to=new)
        return
    done = rename_step(pipeline, new, manual_run_id("rename"))
    entries = counted(len(done.entries), "log entry", "log entries")
    screen.line(f"{name} is {new} now: {entries} and {counted(len(done.notes), 'note')} rewritten")
    for phrase in _left(name, new):
        screen.line(f"to do: {phrase}")
    if json:
        screen.document(
            {
                "pipeline": name,
                "renamed_to": new,
                "entries": [str(path) for path in done.entries],
                "notes": [str(path) for path in done.notes],
            }
        )


def _open(name: str, new: str) -> Pipeline:
    """The pipeline under its old name, by whichever name its spec has."""
    try:
        return open_pipeline(name)
    except UsageError:
        if _spec_of(new) is None:
            raise
    found = open_pipeline(new)
    return replace(found, name=name, layout=Layout(found.layout.root, name))


def _spec_of(name: str) -> Path | None:
    try:
        return find(name).path
    except UsageError:
        return None


def _left(name: str, new: str) -> Iterator[str]:
    """What a person has to do."""
    spec = _spec_of(name)
    if spec is not None:
        yield f"call the pipeline {new} in {spec}: name spec, transform and suite so"
