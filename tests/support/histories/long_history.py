"""A pipeline with a long past: copies of one published increment, under a table that ends there."""

from __future__ import annotations

import json
import os
import re
import shutil
from functools import cache
from pathlib import Path

from tests.support.histories.history_builder import History, rows
from tests.support.histories.spark_batch_builder import plan, write_to_sink_log
from tests.support.histories.spark_log_builder import write_commit
from tidemill.contract.clock import wall_clock
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.journal.event import Announced

# Spark compacts the sink's log with each tenth batch, and reads nothing before that.
COMPACTED = 10
# Ingest, gate and publish take one each.
EPOCHS = 3


class LongHistory(History):
    """A pipeline in which the last of its past batches was compacted in the sink's log."""

    @property
    def written(self) -> int:
        log = self.sink / "_spark_metadata"
        stems = (path.stem for path in log.iterdir()) if log.is_dir() else ()
        return max((int(stem) for stem in stems if stem.isdecimal()), default=-1)


def long_history(home: Path, increments: int, *, files: int = 1) -> History:
    """A pipeline that has published so many increments, and one more by our own steps.

    Args:
        home: An empty folder.
        increments: A multiple of 10.
        files: How many files each of them has read.
    """
    assert increments % COMPACTED == 0
    (home / "pattern").mkdir(parents=True)
    pattern = History(home / "pattern")
    pattern.increment(rows(1))
    pattern.publish()
    (home / "long").mkdir()
    history = LongHistory(home / "long")
    history.start()
    past = history.arrive("past.csv")
    for number in range(1, increments + 1):
        # Each has read files of its own, of which the last alone is still there.
        names = [f"{number}-{place}.csv" for place in range(1, files)]
        names.append(past.name if number == increments else f"{number}.csv")
        read = [history.inputs / name for name in names]
        _copy_documents(pattern.layout, history.layout, number, read, past.stat())
    for run in range(1, increments + 1):
        _copy_run(pattern.layout, history.layout, run)
    last = increments - 1
    plan(history.checkpoint, last, [past])
    write_to_sink_log(history.sink, last, [])
    log = history.sink / "_spark_metadata"
    (log / str(last)).rename(log / f"{last}.compact")
    write_commit(history.checkpoint, last)
    for table in ("table", "rejected"):
        _copy_table(pattern.layout.home / table, history.layout.home / table, increments)
    history.increment(rows(2))
    history.publish()
    return history


def _copy_documents(
    pattern: Layout, layout: Layout, number: int, files: list[Path], status: os.stat_result
) -> None:
    day, name = number - 1, f"{number:06d}"
    batches = {"first": day, "last": day}
    first, own = pattern.increments / "000001", layout.increments / name
    _like(first / "sealed.json", own / "sealed.json", increment=number, **batches)
    _like(first / "001.json", own / "001.json", increment=number)
    event = layout.journal / f"{name}.json"
    _like(pattern.journal / "000001.json", event, seq=number, increment=number, **batches)
    applied = layout.journal / f"{name}.delta.json"
    _like(pattern.journal / "000001.delta.json", applied, seq=number, version=day)
    source, ledger = pattern.ledger(FIRST_GENERATION), layout.ledger(FIRST_GENERATION)
    (begun,) = (source / "starts").iterdir()
    start = ledger / "starts" / f"{number:06d}.json"
    _like(begun, start, epoch=number, last_written=day - 1, last_planned=day - 1)
    modified_ms = status.st_mtime_ns // 1_000_000
    same = {"source": "orders", "size": status.st_size, "modified_ms": modified_ms}
    inputs = [
        {**same, "path": str(file), "inode": status.st_ino if file.exists() else None}
        for file in files
    ]
    batch = ledger / f"{day:06d}.json"
    made = {"start": number, "inputs": inputs, "outputs": []}
    _like(source / "000000.json", batch, batch=day, **made)


def _copy_run(pattern: Layout, layout: Layout, run: int) -> None:
    """The epochs of a run's steps, the announcement of its event, and the folder of its reports."""
    for epoch in range((run - 1) * EPOCHS + 2, run * EPOCHS + 2):
        _like(pattern.lease / "000001.json", layout.lease / f"{epoch:06d}.json", epoch=epoch)
        _like(pattern.lease / "000001.released", layout.lease / f"{epoch:06d}.released")
    layout.journal.joinpath(f"{run:06d}.announced").write_text(Announced(at=wall_clock()).content())
    (layout.runs / f"scheduled-{run:06d}").mkdir(parents=True)


def _copy_table(source: Path, table: Path, increments: int) -> None:
    """A Delta table whose only commit says that it is the one of the last increment."""
    for file in source.rglob("*.parquet"):
        place = table / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    (table / "_delta_log").mkdir(exist_ok=True, parents=True)
    for entry in (source / "_delta_log").glob("*.json"):
        said = entry.read_text().replace(str(source), str(table))
        said = re.sub(r'("appId":"orders/[^"]+","version":)0', rf"\g<1>{increments - 1}", said)
        said = re.sub(r'("tidemill\.journal":")1"', rf'\g<1>{increments}"', said)
        (table / "_delta_log" / entry.name).write_text(said)


def _like(pattern: Path, path: Path, /, **fields: object) -> None:
    """A document like another, with other values in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**_content(pattern), **fields}))


@cache
def _content(pattern: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads(pattern.read_text())
    return content
