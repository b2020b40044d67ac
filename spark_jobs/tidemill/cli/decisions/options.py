"""Options of the commands by which a person decides."""

from getpass import getuser
from typing import Annotated

from typer import Argument, Option

from tidemill.cli.completion import increments

Increment = Annotated[
    int,
    Argument(
        metavar="INCREMENT",
        min=1,
        help="Such as 3 or 000003.",
        show_default=False,
        autocompletion=increments,
    ),
]
# The second for decisions that add nothing to the table's history.
HistoryReason = Annotated[
    str, Option("--reason", help="Why; it goes into the table's history.", show_default=False)
]
PipelineReason = Annotated[
    str, Option("--reason", help="Why; it is kept with the pipeline.", show_default=False)
]
By = Annotated[str | None, Option("--by", help="Who decides.", show_default="you")]


def decider(by: str | None) -> str:
    """Who decides: whom `--by` names, else the user of this process."""
    return getuser() if by is None else by
