"""Whoever watches an ingest sees how far it is."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rich.console import Console

from tidemill.cli.ingest_bar import IngestBar
from tidemill.contract.layout import Layout
from tidemill.ledger.running_queries import Running, RunningQuery
from tidemill.storage.processes import this_process


def drawn(bar: IngestBar) -> str:
    console = Console(file=StringIO(), width=160)
    with console.capture() as capture:
        console.print(bar)
    return capture.get().rstrip()


def test_the_bar_is_drawn_from_what_the_query_wrote_down(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "orders")
    assert drawn(IngestBar(layout)) == "ingest …"
    now = datetime.now(UTC)
    query = RunningQuery(
        pipeline="orders",
        run_id="r",
        query_id="q",
        query_run_id="s",
        process=this_process(),
        since=now,
        trigger="availableNow",
        batches=3,
        done=0.5,
        written=now,
    )
    Running(layout, "r").write(query)
    line = drawn(IngestBar(layout))
    assert line.startswith("ingest … ━")
    assert line.endswith("3 batches written, 50% of what waited is read")
