"""`tidemill init`: a project to write pipelines in, and the root that holds their data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tidemill.cli.project.airflow_setup import CONNECTION, DAG_FILE, POOL, airflow_steps
from tidemill.cli.screen import Json, Screen
from tidemill.cli.write_rule import DryRun, show_dry_run
from tidemill.contract.errors import UsageError
from tidemill.spec.root import root as root_given
from tidemill.steps.authoring.make_project import MadeProject, make_project
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
    bool, Option("--airflow", help="Make Airflow's pool, connection and DAG file, too.")
]


def init(
    folder: Folder = None,
    root_id: RootId = None,
    no_example: NoExample = False,
    airflow: Airflow = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make a project, or the root that TIDEMILL_ROOT names; nothing there is overwritten.

    Without FOLDER it makes TIDEMILL_ROOT a root, or accepts the disk that is mounted there now.

    Examples:
      tidemill init mills             # a project, and its root in mills/.tidemill
      tidemill init                   # the root that TIDEMILL_ROOT names
      tidemill init --airflow         # the same, and what Airflow needs
    """
    screen = Screen(json)
    if folder is None and no_example:
        raise UsageError("--no-example is for a project.", remedy="Name its FOLDER.")
    made = (
        None
        if folder is None
        else make_project(folder.resolve(), example=not no_example, write=not dry_run)
    )
    if dry_run:
        show_dry_run(screen, _plan(made, root_id, airflow=airflow))
        return
    for path, written in made.files.items() if made else ():
        screen.line(f"{'wrote' if written else 'kept '} {path}")
    root = _root(made)
    own = root_identity.initialise(root, root_id)
    screen.line(f"{root} is root {own.id}, created {own.created:%Y-%m-%d %H:%M} UTC")
    steps = airflow_steps() if airflow else ()
    for step in steps:
        screen.line(step.sentence)
    if made is not None:
        screen.line(f"For Airflow: export TIDEMILL_PROJECTS={made.home} TIDEMILL_ROOT={root}")
        screen.line(
            f"Next, in {made.home}, from data of yours: tidemill new orders --from data/orders"
        )
    if json:
        document: dict[str, object] = {"root": str(root), **own.model_dump(mode="json")}
        if made is not None:
            files = {str(path): written for path, written in made.files.items()}
            document |= {"project": str(made.home), "files": files}
        if airflow:
            document["airflow"] = {step.what: step.outcome for step in steps}
        screen.document(document)


def _root(made: MadeProject | None) -> Path:
    return root_given() if made is None or made.root is None else made.root


def _plan(made: MadeProject | None, root_id: str | None, *, airflow: bool) -> Iterator[str]:
    for path, written in made.files.items() if made else ():
        if written:
            yield f"write {path}"
    root = _root(made)
    known = root_identity.root_id_of(root)
    if known is None:
        yield f"make {root} a root{f', {root_id}' if root_id else ''}"
    elif root_id is not None and root_id != known:
        yield f"make root {known} in {root} root {root_id}"
    if airflow:
        what = f"the pool {POOL}, the connection {CONNECTION} and the DAG file {DAG_FILE}"
        yield f"make {what} in Airflow where it lacks them"
