"""`tidemill explain`: what an error means, and what to do about it."""

from typing import Annotated

from typer import Argument

from tidemill.cli.completion import codes
from tidemill.cli.screen import Csv, Json, Screen
from tidemill.reporting.error_page import ExplainedError, explained, read_errors

Code = Annotated[
    str | None,
    Argument(
        metavar="CODE",
        help="Stands before or behind an error's message, such as DiskFull.",
        show_default="all",
        autocompletion=codes,
    ),
]
# What each kind of remedy asks of a person.
KINDS = {
    "command": "type a command",
    "spec": "edit the spec, the transform or the suite",
    "input": "edit the input",
    "wait": "wait for the next try",
    "restore": "restore files or a disk",
    "environment": "correct the environment: a server, a topic, a table, rights",
    "usage": "type the command otherwise, or correct its settings",
}
PLACES = {"shell": "at a shell", "Airflow": "in Airflow", "both": "at a shell and in Airflow"}


def explain(code: Code = None, json: Json = False, csv: Csv = False) -> None:
    """Explain an error's code: what it means and what to do; without a code, list them.

    Examples:
      tidemill explain CheckpointLost
      tidemill explain
    """
    screen = Screen(json, csv)
    found = read_errors() if code is None else [explained(code)]
    if json:
        screen.document({"errors": [error.model_dump(mode="json") for error in found]})
    elif code is None or csv:
        screen.table("", ("error", "what it means"), ((one.code, one.means) for one in found))
    else:
        _show(found[0], screen)


def _show(error: ExplainedError, screen: Screen) -> None:
    screen.line(f"{error.code}, met {PLACES[error.read_at]}")
    screen.line(f"means: {error.means}")
    screen.line(f"kind of remedy: {KINDS[error.kind]}")
    screen.line(f"what to do: {error.remedy}")
