"""`make demo`: five days of a small shop through Airflow, one of them bad.

The gate holds the bad day, the day after waits behind it, a person releases it, and the next run
publishes everything in order. Each run is the DAG `shop_orders` itself, by Airflow's `dag.test()`.
With `DAYS=4` it ends before the release, which a person then decides on in `make up`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidemill.contract import report as reports
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.layout import Layout
from tidemill.contract.project import REPOSITORY
from tidemill.contract.report import Outcome
from tidemill.file_formats.delta import open_dataset
from tidemill.increments.snapshot import Snapshot
from tidemill.samples.shop_orders import write_day
from tidemill_airflow.local.environment import Kept
from tidemill_airflow.local.quiet import quiet
from tidemill_airflow.local.up import refuse_if_up

if TYPE_CHECKING:
    from airflow.sdk import DAG

NAME = "shop_orders"
DAYS = 5
BAD_DAY = 3
REASON = "negative quantities are returns; the shop confirmed them"
# The command that a person would type after the bad day's successor.
RELEASE = ("tidemill", "release", NAME, str(BAD_DAY), "--reason", REASON)
SHOWN = ("order_id", "product", "quantity", "unit_price", "amount", "order_date")
STEP_LIMIT = timedelta(minutes=5)


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, and say what happened."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--folder", type=Path, default=REPOSITORY, help="where all is kept")
    parser.add_argument(
        "--days",
        type=int,
        choices=range(1, DAYS + 1),
        default=DAYS,
        help=f"how many days to run; {DAYS - 1} leave day {BAD_DAY} held",
    )
    given = parser.parse_args(argv)
    kept, days = Kept(given.folder.resolve()), int(given.days)
    console = Console()
    keep_from_others()
    os.environ.update(kept.environment())
    try:
        refuse_if_up(kept)
    except UsageError as error:
        console.print(str(error))
        return error.exit_code
    layout, log = Layout(kept.root, NAME), kept.home / "demo.log"
    started = time.monotonic()
    say = partial(console.print, highlight=False, soft_wrap=True)
    say(f"{days} days of {NAME}, one Airflow run each. The log: {log}")
    dag = _prepare(kept, log)
    runs: list[str] = []
    for day in range(1, days + 1):
        if day == DAYS and Snapshot(layout).increments:
            say(f"  [bold]$ {shlex.join(RELEASE)}[/]")
            with quiet(log):
                subprocess.run(RELEASE, check=False)
        with console.status(f"day {day}"), quiet(log):
            runs.append(_day(dag, kept.input, day))
        say(f"  day {day}: {_what_happened(layout, runs[-1])}")
    _show_increments(console, layout, runs)
    if not _as_it_should(layout, days):
        say(f"[red]This is not how it should go.[/] Look at {log}")
        return ExitCode.FAILED
    _show_table(console, layout)
    seconds = time.monotonic() - started
    say(f"Done in {seconds:.0f} s. To see it in Airflow: [bold]make up[/]")
    if BAD_DAY <= days < DAYS:
        say(f"Day {BAD_DAY} is held: Airflow's menu Tidemill leads to its page, where you decide.")
    return ExitCode.DONE


def _prepare(kept: Kept, log: Path) -> DAG:
    """A clean root, a database without earlier demos, and the DAG."""
    shutil.rmtree(kept.data, ignore_errors=True)
    for folder in (kept.root, kept.home):
        folder.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with quiet(log):
        from tidemill_airflow.airflow_internals.dag_bag import parse
        from tidemill_airflow.local.metadata import forget, prepare

        prepare()
        forget(NAME)
        dags, _ = parse(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    dag = dags[NAME]
    for task in dag.tasks:
        task.execution_timeout = STEP_LIMIT
    return dag


def _day(dag: DAG, arriving: Path, day: int) -> str:
    """One day: its file arrives, the DAG runs. Returns the run's id."""
    write_day(arriving / NAME, day, planted=day == BAD_DAY)
    return str(dag.test().run_id)


def _what_happened(layout: Layout, run_id: str) -> str:
    """The last word of a run: its publish, or the step that ended it."""
    found = [reports.read(layout.run(run_id), step) for step in ("doctor", "ingest", "gate")]
    last = reports.read(layout.run(run_id), "publish") or [one for one in found if one][-1]
    marks = {Outcome.DONE: "[green]published[/]", Outcome.WAITING: "[yellow]waits[/]"}
    return f"{marks.get(last.outcome, f'[red]{last.outcome}[/]')}: {escape(last.reason)}"


def _show_increments(console: Console, layout: Layout, runs: list[str]) -> None:
    snapshot = Snapshot(layout)
    table = Table(title="What the runs did", title_justify="left")
    for column in ("run", "increment", "rows", "rejected", "verdict", "version"):
        table.add_column(column, justify="right" if column in ("rows", "rejected") else "left")
    for increment in snapshot.increments:
        sealed, verdict, release = increment.sealed, increment.verdict, increment.release
        event = snapshot.event_of.get(sealed.increment)
        applied = snapshot.published.get(event.seq) if event else None
        said = verdict.outcome if verdict else "none"
        table.add_row(
            f"day {runs.index(sealed.run_id) + 1}" if sealed.run_id in runs else sealed.run_id,
            f"{sealed.increment:06d}",
            f"{sealed.rows:,}",
            f"{sealed.rejected:,}",
            f"{said}, released by {release.by}" if release else said,
            str(applied.version) if applied else "-",
        )
    console.print(table)


def _show_table(console: Console, layout: Layout) -> None:
    from deltalake import DeltaTable

    published = DeltaTable(layout.table)
    rows = open_dataset(layout.table, published).to_table(columns=list(SHOWN))
    rejected = open_dataset(layout.rejected).count_rows()
    table = Table(title=f"The published table, version {published.version()}", title_justify="left")
    for column in rows.column_names:
        table.add_column(column)
    head: list[dict[str, Any]] = rows.sort_by("order_id").slice(0, 5).to_pylist()
    for row in head:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)
    console.print(
        f"{counted(rows.num_rows, 'row')} published, {rejected:,} rejected: {layout.table}",
        soft_wrap=True,
    )


def _as_it_should(layout: Layout, days: int) -> bool:
    """Whether all days went out in order, the bad one by a release; before it, those before it."""
    snapshot = Snapshot(layout)
    out = [event.increment for event in snapshot.events]
    released = [one.number for one in snapshot.increments if one.release]
    if days < DAYS:
        return out == [*range(1, min(days + 1, BAD_DAY))] and not released
    return out == [*range(1, DAYS + 1)] and released == [BAD_DAY]


if __name__ == "__main__":
    sys.exit(main())
