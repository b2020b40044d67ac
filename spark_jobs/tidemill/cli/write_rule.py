"""The rule of all commands that write: a plan by `--dry-run`, and a question before what stays.

What another command takes back is done at once. What stays is shown first: at a terminal the
command asks, elsewhere it needs `--yes`.
"""

import sys
from collections.abc import Iterable
from typing import Annotated

from typer import Option, confirm

from tidemill.cli.screen import Screen
from tidemill.contract.errors import UsageError

DryRun = Annotated[bool, Option("--dry-run", help="Show what would be done, and change nothing.")]
Yes = Annotated[bool, Option("--yes", help="Do it without asking.")]


class Unconfirmed(UsageError):
    """What stays needs a person's yes, and there is no terminal to ask at; carries `plan`."""


def show_dry_run(screen: Screen, plan: Iterable[str], **facts: object) -> None:
    """Show all that a dry run has to say.

    Args:
        plan: What would be done, each a phrase such as `write mills/tidemill.yaml`.
        facts: Fields of the command's own for its JSON document.
    """
    steps = [*plan]
    for step in steps:
        screen.line(f"would {step}")
    if not steps:
        screen.line("nothing is to be done")
    if screen.as_json:
        screen.document({**facts, "dry_run": True, "plan": steps})


def agreed(
    screen: Screen, plan: Iterable[str], *, dry_run: bool, yes: bool, **facts: object
) -> bool:
    """Show the plan of a command whose effect stays, and ask for a yes unless it was given.

    Args:
        plan: What will be done; with an empty one there is nothing to ask.
        facts: Fields of the command's own for the JSON document of a dry run.

    Returns:
        Whether to go on; False for a dry run, which has said everything.

    Raises:
        Unconfirmed: there is no terminal, and no `--yes`.
        Abort: a person refuses.
    """
    steps = [*plan]
    if dry_run:
        show_dry_run(screen, steps, **facts)
        return False
    for step in steps:
        screen.line(f"will {step}")
    if steps and not yes:
        if not sys.stdin.isatty():
            raise Unconfirmed(
                "This cannot be taken back, and there is no terminal to ask at.",
                remedy="Look at the plan with --dry-run, then give --yes.",
                plan=steps,
            )
        confirm("Go on?", abort=True, err=True)
    return True
