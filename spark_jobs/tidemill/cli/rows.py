"""`tidemill rows`: what consumers read, and what is in an increment that they do not see yet."""

from typing import Annotated

from typer import Option

from tidemill.cli.completion import increments
from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.cli.status import state_of
from tidemill.cli.zones import Utc, zone_of
from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta import read_rows
from tidemill.increments.rejected_rows import reasons_counted
from tidemill.increments.snapshot import Snapshot
from tidemill.reporting.increment_rows import read_increment_rows
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show.")]
Rejected = Annotated[bool, Option("--rejected", help="The rejected rows, with their reasons.")]
Version = Annotated[
    int | None,
    Option("--version", min=0, help="A version of the table.", show_default="the newest"),
]
Increment = Annotated[
    int | None,
    Option(
        "--increment",
        min=1,
        help="The rows of one increment, such as a held one.",
        show_default="published rows",
        autocompletion=increments,
    ),
]


def rows(
    name: PipelineName,
    limit: Limit = 20,
    rejected: Rejected = False,
    version: Version = None,
    increment: Increment = None,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show published rows, or those of one increment; good rows, or rejected ones.

    Examples:
      tidemill rows tides --limit 5
      tidemill rows tides --rejected
      tidemill rows tides --increment 3
    """
    screen = Screen(json, csv)
    find(name)
    layout = Layout(existing_root(), name)
    if increment is None:
        _published(layout, limit, version, screen, rejected=rejected)
    elif version is None:
        _of_increment(layout, increment, limit, screen, utc=utc, rejected=rejected)
    else:
        raise UsageError(
            "--increment and --version exclude each other.", remedy="Give one of them."
        )


def _published(
    layout: Layout, limit: int, version: int | None, screen: Screen, *, rejected: bool
) -> None:
    path = layout.rejected if rejected else layout.table
    found = read_rows(path, limit, version)
    if screen.as_json:
        screen.document({"pipeline": layout.name, "path": path, **found.model_dump()})
    elif found.version is None:
        kind = "no rejected rows are" if rejected else "nothing is"
        screen.line(f"{layout.name}: {kind} published yet")
        option = " --rejected" if rejected else ""
        for one in Snapshot(layout).waiting():
            shown = f"tidemill rows {layout.name} --increment {one.number}{option}"
            screen.line(f"increment {one.number:06d} is {one.state}; its rows: {shown}")
    else:
        total = "unknown rows" if found.total is None else counted(found.total, "row")
        screen.table(
            f"version {found.version}: {len(found.rows)} of {total}",
            found.columns,
            ([row[column] for column in found.columns] for row in found.rows),
        )


def _of_increment(
    layout: Layout, number: int, limit: int, screen: Screen, *, utc: bool, rejected: bool
) -> None:
    found = read_increment_rows(layout, number, limit, rejected=rejected)
    if screen.as_json:
        screen.document({"pipeline": layout.name, **found.model_dump()})
        return
    one = found.increment
    screen.line(f"increment {number:06d}, {state_of(one, zone_of(layout.name, utc))}")
    for reason in one.reasons:
        screen.line(f"held because: {reason}")
    for path in found.inputs:
        screen.line(f"read: {path}")
    screen.line(str(found.books))
    if found.rejected_by_reason:
        screen.line(f"rejected: {reasons_counted(found.rejected_by_reason)}")
    total = counted(found.total, "rejected row" if rejected else "row")
    screen.table(
        f"{len(found.rows):,} of {total}",
        found.columns,
        ([row.get(column) for column in found.columns] for row in found.rows),
    )
