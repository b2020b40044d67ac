"""The remedy of an error, for the place where it is read: a shell or Airflow."""

import re
from collections.abc import Mapping
from typing import Any

from tidemill.contract.errors import ExitCode

# What Airflow's form of a pipeline's resolve DAG does too.
_DECISION = re.compile(r"\btidemill (release|reject|reinstate|redo|rebuild) ([a-z][a-z0-9_]*)")
_BACKFILL = re.compile(r"\btidemill (?:backfill|follow) ([a-z][a-z0-9_]*)")


def more_about(error: Mapping[str, Any]) -> str:
    """The command that shows the error's row of the page of errors, for a person at a shell.

    Args:
        error: `TidemillError.as_dict()`.

    Returns:
        Nothing for wrong usage, of which the message says all.
    """
    return (
        "" if error["exit_code"] == ExitCode.USAGE else f" More: tidemill explain {error['code']}"
    )


def for_airflow(error: Mapping[str, Any]) -> str:
    """What to do next, for a person who reads it in Airflow.

    Args:
        error: `TidemillError.as_dict()`.

    Returns:
        The remedy in Airflow's words; one with a command that a DAG carries out too names the DAG.
    """
    remedy = str(error.get("remedy_in_airflow") or error["remedy"])
    there = [
        f"Start the DAG {name}__resolve with the action {action}."
        for action, name in dict.fromkeys(_DECISION.findall(remedy))
    ]
    there += [
        f"Trigger the DAG {name} as a backfill."
        for name in dict.fromkeys(_BACKFILL.findall(remedy))
    ]
    return f"{remedy} In Airflow: {' Or: '.join(there)}" if there else remedy
