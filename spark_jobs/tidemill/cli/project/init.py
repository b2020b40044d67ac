"""`tidemill init`: a project to write pipelines in, and the root that holds their data."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tidemill.cli.project.airflow_setup import airflow_steps
from tidemill.cli.screen import Json, Screen
from tidemill.contract.errors import UsageError
from tidemill.spec.root import root as root_given
from tidemill.steps.authoring.make_project import EXAMPLE, make_project
from tidemill.storage import root_identity

Folder = Annotated[
    Path | None,
    Argument(
        metavar="FOLDER",
        help="The project to make; without it the root alone.",
        show_default=False,
    ),
]
RootId = Annotated[
    str | None,
    Option("--id", help="The identity that it is to have, such as a note's.", show_default=False),
]
NoExample = Annotated[bool, Option("--no-example", help="Leave out the example pipeline.")]
Airflow = Annotated[
    bool, Option("--airflow", help="Make the pool and the connection in Airflow, too.")
]


def init(
    folder: Folder = None,
    root_id: RootId = None,
    no_example: NoExample = False,
    airflow: Airflow = False,
    json: Json = False,
) -> None:
    """Make a project, or the root that TIDEMILL_ROOT names; nothing there is overwritten.

    Without FOLDER it makes TIDEMILL_ROOT a root, or accepts the disk that is mounted there now.

    Examples:
      tidemill init mills             # a project, and its root in mills/.tidemill
      tidemill init                   # the root that TIDEMILL_ROOT names
      tidemill init --airflow         # the same, with a pool and a connection in Airflow
    """
    screen = Screen(json)
    made = None
    if folder is None:
        if no_example:
            raise UsageError("--no-example is for a project.", remedy="Name its FOLDER.")
        root = root_given()
    else:
        made = make_project(folder.resolve(), example=not no_example)
        root = made.root
        for path, written in made.files.items():
            screen.line(f"{'wrote' if written else 'kept '} {path}")
    own = root_identity.initialise(root, root_id)
    screen.line(f"{root} is root {own.id}, created {own.created:%Y-%m-%d %H:%M} UTC")
    steps = airflow_steps() if airflow else ()
    for step in steps:
        screen.line(step.sentence)
    if made is not None:
        screen.line(f"Name it for Airflow and for commands from elsewhere: {made.export}")
        if not no_example:
            screen.line(f"Try the example: tidemill check my_{EXAMPLE}")
        screen.line("Make a pipeline of your own data: tidemill new NAME --from FILE")
    if json:
        document = {"root": str(root), **own.model_dump(mode="json")}
        if made is not None:
            files = {str(path): written for path, written in made.files.items()}
            document |= {"project": str(made.home), "files": files}
        if airflow:
            document["airflow"] = {step.what: step.outcome for step in steps}
        screen.document(document)
