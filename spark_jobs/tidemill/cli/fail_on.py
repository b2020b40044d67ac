"""The option `--fail-on`: an exit code for monitoring, from the states of pipelines."""

from collections.abc import Iterable
from typing import Annotated, get_args

from typer import Option

from tidemill.contract.errors import ExitCode, UsageError
from tidemill.reporting.status_document import PipelineState

STATES = get_args(PipelineState)
CODES = {"refused": ExitCode.REFUSED, "held": ExitCode.HELD}

FailOn = Annotated[
    str | None,
    Option(
        "--fail-on",
        metavar="STATES",
        help="States that are an error, such as held,overdue,behind: exit code 4 for refused, 3 "
        "for held, 1 for any other.",
        show_default=False,
    ),
]


def states_of(given: str | None) -> tuple[str, ...]:
    """The states that a person named.

    Raises:
        UsageError: one of them is not a state; carries `state`.
    """
    named = tuple(part.strip().replace("-", " ") for part in (given or "").split(",") if part)
    for state in named:
        if state not in STATES:
            raise UsageError(
                f"--fail-on: '{state}' is not a state of a pipeline.",
                remedy=f"The states are: {', '.join(STATES)}.",
                state=state,
            )
    return named


def exit_code(found: Iterable[str], fail_on: Iterable[str]) -> ExitCode:
    """The exit code for pipelines in some states: that of the most urgent one named."""
    urgent = sorted({*found} & {*fail_on}, key=STATES.index)
    return CODES.get(urgent[0], ExitCode.FAILED) if urgent else ExitCode.DONE
