"""`tidemill rows`: what consumers read."""

from typing import Annotated

from typer import Option

from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.contract.layout import Layout
from tidemill.contract.project import find
from tidemill.file_formats.delta import read_rows
from tidemill.spec.pipeline import root

Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show.")]
Rejected = Annotated[bool, Option("--rejected", help="The rejected rows, with their reasons.")]
Version = Annotated[
    int | None,
    Option("--version", min=0, help="A version of the table.", show_default="the newest"),
]


def rows(
    name: PipelineName,
    limit: Limit = 20,
    rejected: Rejected = False,
    version: Version = None,
    json: Json = False,
) -> None:
    """Show published rows, or rejected ones."""
    screen = Screen(json)
    find(name)
    layout = Layout(root(), name)
    path = layout.rejected if rejected else layout.table
    found = read_rows(path, limit, version)
    if json:
        screen.document({"pipeline": name, "path": path, **found.model_dump()})
    elif found.version is None:
        screen.line(f"{name}: nothing is published yet")
    else:
        screen.table(
            f"version {found.version}: {len(found.rows)} of {found.total} rows",
            found.columns,
            ([row[column] for column in found.columns] for row in found.rows),
        )
