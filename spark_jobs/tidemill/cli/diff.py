"""`tidemill diff`: the rows that two versions of a table differ in."""

from typing import Annotated

from typer import Option

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.contract.counted import counted
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_diff import read_diff
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

From = Annotated[
    int | None,
    Option("--from", min=0, help="A version of the table.", show_default="the one before --to"),
]
To = Annotated[
    int | None, Option("--to", min=0, help="A version of the table.", show_default="the newest")
]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show.")]
Rejected = Annotated[bool, Option("--rejected", help="Compare the table of rejected rows.")]


def diff(
    name: PipelineName,
    first: From = None,
    last: To = None,
    limit: Limit = 20,
    rejected: Rejected = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the rows in which two versions of the published table differ, as after a backfill.

    Examples:
      tidemill diff tides
      tidemill diff tides --from 12 --to 15 --json
    """
    screen = Screen(json, csv)
    find(name)
    layout = Layout(existing_root(), name)
    path = layout.rejected if rejected else layout.table
    found = read_diff(path, first, last, limit)
    if json:
        screen.document({"pipeline": name, "path": path, **found.model_dump()})
        return
    columns = ("change", *found.columns)
    screen.table(
        f"version {found.first} to {found.last}: {counted(found.added, 'row')} added, "
        f"{found.removed:,} removed; {len(found.rows)} shown",
        columns,
        ([row[column] for column in columns] for row in found.rows),
    )
