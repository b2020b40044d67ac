"""`tidemill bundle`: what somebody else needs to see of a pipeline to help."""

from pathlib import Path
from typing import Annotated

from typer import Option

from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError

To = Annotated[
    Path | None,
    Option("--to", metavar="FILE", help="The file to write.", show_default="NAME.tar.gz here"),
]


def bundle(name: PipelineName, to: To = None, dry_run: DryRun = False, json: Json = False) -> None:
    """Write a file for support: versions, spec, and documents without secrets or row values.

    Examples:
      tidemill bundle tides
      tidemill bundle tides --to /tmp/tides.tar.gz
    """
    from tidemill.spec.pipeline import open_pipeline
    from tidemill.steps.read_only.support_bundle import bundled, write_bundle

    screen = Screen(json)
    path = (to or Path(f"{name}.tar.gz")).absolute()
    if dry_run:
        texts = bundled(open_pipeline(name))
        parts = (f"put {part} into it, {counted(len(text), 'byte')}" for part, text in texts)
        show_dry_run(screen, (f"write {path}", *parts), pipeline=name)
        return
    try:
        held = write_bundle(open_pipeline(name), path)
    except FileExistsError as error:
        raise UsageError(
            f"{path} is there already.", remedy="Name another file by --to.", path=path
        ) from error
    if json:
        screen.document({"path": path, "files": dict(held)})
        return
    screen.line(f"{path}: {counted(len(held), 'file')}. Look through it before you send it.")
