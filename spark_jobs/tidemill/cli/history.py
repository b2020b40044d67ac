"""`tidemill history`: what happened to a pipeline, in order."""

from typing import Annotated

from typer import Option

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.cli.zones import Utc, time_shown, zone_of
from tidemill.contract.layout import Layout
from tidemill.reporting.past_entries import read_entries
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

Limit = Annotated[int, Option("--limit", min=1, help="Most entries to show, the newest.")]


def history(
    name: PipelineName,
    limit: Limit = 50,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show what happened in order: increments, verdicts, decisions, events, takeovers.

    Examples:
      tidemill history tides
      tidemill history tides --limit 1000 --csv
    """
    screen = Screen(json, csv)
    find(name)
    entries = read_entries(Layout(existing_root(), name))
    shown = entries[-limit:]
    if json:
        found = [entry.model_dump(mode="json") for entry in shown]
        screen.document({"pipeline": name, "total": len(entries), "entries": found})
        return
    if not entries and not csv:
        screen.line(f"{name}: nothing has happened yet")
        return
    zone = zone_of(name, utc)
    columns = ("at", "what", "kind", "increment", "event", "by", "said")
    screen.table(
        f"{name}: the last {len(shown):,} of {len(entries):,}",
        columns,
        (
            (time_shown(one.at, zone), *(getattr(one, column) for column in columns[1:]))
            for one in shown
        ),
    )
