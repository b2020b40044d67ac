"""`tidemill init` and `tidemill forget`: what starts over, because a person says so."""

from typing import Annotated

from typer import Option, confirm

from tidemill.cli.decisions.options import Yes
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.spec import pipeline
from tidemill.spec.root import root as root_given
from tidemill.storage import root_identity

RootId = Annotated[
    str | None,
    Option("--id", help="The identity that it is to have, such as a note's.", show_default=False),
]


def init(root_id: RootId = None, json: Json = False) -> None:
    """Make TIDEMILL_ROOT a root, or accept the disk that is mounted there now.

    Examples:
      tidemill init
    """
    screen, root = Screen(json), root_given()
    own = root_identity.initialise(root, root_id)
    screen.line(f"{root} is root {own.id}, created {own.created:%Y-%m-%d %H:%M} UTC")
    if json:
        screen.document({"root": str(root), **own.model_dump(mode="json")})


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
