"""`tidemill late`: rows that came after the watermark had passed them."""

from typing import Annotated

from typer import Option

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.contract.counted import counted
from tidemill.contract.layout import Layout
from tidemill.journal.takeovers import current
from tidemill.ledger.late_rows import COLUMNS, LateLog, late_total
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

Limit = Annotated[int, Option("--limit", min=1, help="Most rows to show.")]


def late(name: PipelineName, limit: Limit = 20, json: Json = False, csv: Csv = False) -> None:
    """Show the rows that came too late for any result, and how many they are.

    Examples:
      tidemill late windowed_words
    """
    screen = Screen(json, csv)
    find(name)
    layout = Layout(existing_root(), name)
    log = LateLog(layout, current(layout))
    found = log.read()
    total = late_total(found)
    rows = log.rows([*total.batches][::-1], limit)
    if json:
        batches = [one.model_dump(mode="json") for one in found if one.counts or one.unknown]
        screen.document({"pipeline": name, "late": total.rows, "batches": batches, "rows": rows})
        return
    for one in found:
        if one.unknown is not None:
            screen.line(f"batch {one.batch}: unknown, {one.unknown}")
    if not rows:
        screen.line(f"{name}: no row was late")
        return
    screen.table(
        f"{name}: {len(rows):,} of {counted(total.rows, 'late row')}, the newest first",
        ("batch", *COLUMNS),
        ([row[column] for column in ("batch", *COLUMNS)] for row in rows),
    )
