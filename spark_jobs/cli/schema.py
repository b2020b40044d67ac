"""`tidemill schema`: the JSON Schema that editors complete specs from."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from spark_jobs.cli.screen import Screen
from spark_jobs.contract import schema as specs

Write = Annotated[bool, Option("--write", help="Write it to where the specs refer to.")]


def schema(write: Write = False) -> None:
    """Print the JSON Schema of specs."""
    screen = Screen()
    if write:
        screen.line(str(specs.write(specs.PATH)))
    else:
        screen.document(specs.spec_schema())
