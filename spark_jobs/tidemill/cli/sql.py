"""`tidemill sql`: a query over what consumers read."""

from typing import Annotated

from typer import Argument, Option

from tidemill.cli.screen import Csv, Json, Screen
from tidemill.contract.counted import counted
from tidemill.reporting.sql import answer, tables_of
from tidemill.spec.catalog import spec_files
from tidemill.spec.root import existing_root

Query = Annotated[
    str,
    Argument(
        metavar="SELECT",
        help="In DuckDB's dialect; a pipeline's name is its table, <name>_rejected its rejects.",
        show_default=False,
    ),
]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show.")]


def sql(query: Query, limit: Limit = 100, json: Json = False, csv: Csv = False) -> None:
    """Query the published tables of all pipelines; writes nothing.

    Examples:
      tidemill sql "SELECT station, max(level_m) FROM tides GROUP BY ALL"
      tidemill sql "FROM tides_rejected" --limit 5
    """
    screen = Screen(json, csv)
    tables = tables_of(existing_root(), (one.name for one in spec_files()))
    found = answer(query, tables, limit)
    if json:
        screen.document(found.model_dump())
        return
    more = ", and there are more (--limit)" if found.more else ""
    screen.line(f"{counted(len(found.rows), 'row')}{more}")
    screen.table(
        "",
        found.columns,
        ([row[column] for column in found.columns] for row in found.rows),
    )
