"""`tidemill forget`: what starts over, because a person says so."""

from typer import confirm

from tidemill.cli.decisions.options import Yes
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.spec import pipeline
from tidemill.storage import root_identity


def forget(name: PipelineName, yes: Yes = False, json: Json = False) -> None:
    """Let a pipeline whose folder is gone start over, with all its input.

    Examples:
      tidemill forget tides
    """
    screen = Screen(json)
    opened = pipeline.open_pipeline(name)
    screen.line(f"the next run of {name} reads all its input again, under a new generation")
    for target in opened.spec.publish:
        if target.kind not in ("delta", "files"):
            screen.line(f"{target.name} keeps the rows that it has: empty it first")
    if not yes:
        confirm("Start over?", abort=True, err=True)
    known = root_identity.forget(opened.layout)
    screen.line(f"{name} is forgotten" if known else f"{name} was not known in this root")
    if json:
        screen.document({"pipeline": name, "known": known})
