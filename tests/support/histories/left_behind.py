"""What years of runs and kills leave under a pipeline's folder, and what resembles it."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.support.histories.generation_builder import write_scratch
from tests.support.histories.history_builder import History, row
from tidemill.contract.clock import wall_clock
from tidemill.contract.layout import Layout
from tidemill.journal.takeovers import read_takeovers
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.run_increment import remember
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.steps.upkeep.vacuum import KEPT
from tidemill.storage.epochs import use_up

SCRATCH = "backfill-0badc0de"
LONG_AGO = time.time() - 400 * 86_400


def age(*paths: Path) -> None:
    """Let files and folders, with all that is in them, be as old as a year and more."""
    for path in paths:
        for one in (path, *path.rglob("*")):
            os.utime(one, (LONG_AGO, LONG_AGO))


def leave_behind(history: History, kept: int = KEPT) -> dict[str, list[Path]]:
    """Put two or more leftovers of each kind under a pipeline that has published; kind -> paths.

    Args:
        kept: As of `vacuum`.
    """
    layout = history.layout
    found = {
        "removal": [layout.home / ".removed" / name for name in ("1a", "2b")],
        "orphan": _orphans(history),
        "scratch": _scratch(history),
        "snapshot": leave_snapshots(history),
        "run": _runs(history, kept)[1:3],
        "lease": _leases(history, kept),
        "notice": _notices(history, kept)[:2],
        "stream": [layout.streams / name for name in ("dead.json", "dead.stop")],
        "draft": [
            layout.journal / f".000009.json.{uuid.uuid4().hex}.draft",
            layout.statics / "prices" / ".0a1b2c.draft",
        ],
    }
    for folder in (*found["removal"], found["draft"][1]):
        _write(folder / "part" / "rest")
    for path in (found["draft"][0], *found["stream"]):
        _write(path)
    age(*(path for kind, paths in found.items() if kind != "run" for path in paths))
    return found


def look_alikes(history: History) -> list[Path]:
    """Files like leftovers that must stay: too young, still needed, or not Tidemill's."""
    layout = history.layout
    young = [
        history.sink / "day=2024-01-01" / "part-00000-young.parquet",
        layout.sink("backfill-00000001") / "part-00000-at-work.parquet",
        layout.journal / f".000010.json.{uuid.uuid4().hex}.draft",
        layout.home / "my notes.txt",
    ]
    for path in young:
        _write(path)
    age(young[-1])
    return young


def _orphans(history: History) -> list[Path]:
    folder = history.sink / "day=2024-01-01"
    found = [folder / "part-00000-dead.parquet", folder / ".part-00000-dead.parquet.crc"]
    for path in found:
        _write(path)
    return found


def _scratch(history: History) -> list[Path]:
    """A recomputation that was killed before it was sealed."""
    layout = history.layout
    write_scratch(history, Ledger(layout, SCRATCH), 0, [row(99)], [])
    return [layout.sink(SCRATCH), layout.note(SCRATCH), layout.ledger(SCRATCH)]


def end_long_ago(layout: Layout) -> Path:
    """Let the first takeover of a pipeline be one of long ago; the checkpoint that it ended."""
    (takeover, *_) = read_takeovers(layout.home)
    born = takeover.model_copy(update={"born": datetime.fromtimestamp(LONG_AGO, UTC)})
    (layout.generations / "000001.json").write_text(born.content(), encoding="utf-8")
    return layout.checkpoint(takeover.predecessor)


def leave_snapshots(history: History) -> list[Path]:
    """Take two snapshots of which the first is old, and half a third; what a vacuum removes."""
    layout, old = history.layout, datetime.fromtimestamp(LONG_AGO, UTC)
    for clock in (lambda: old, wall_clock):
        keep_snapshot(replace(history.run("keep"), clock=clock), "ann")
    half = layout.snapshot(3)
    _write(half / "checkpoint" / "metadata")
    return [layout.snapshots / "000001.json", layout.snapshot(1), half]


def _runs(history: History, kept: int) -> list[Path]:
    """Runs until two are too many, the oldest first; the third has an increment that is out."""
    there = len([*history.layout.runs.iterdir()])
    numbers = range(kept + 3 - there)
    found = [history.layout.run(f"scheduled-{number:04d}") for number in numbers]
    for number, folder in enumerate(found):
        _write(folder / "doctor.json")
        if number == 2:
            remember(folder, 1)
        # Newer than the leftovers, in this order.
        at = LONG_AGO - 10_000 + number
        for one in (*folder.iterdir(), folder):
            os.utime(one, (at, at))
    return found


def _leases(history: History, kept: int) -> list[Path]:
    folder = history.layout.lease
    newest = use_up(folder, kept + 5, "many runs")
    upto = newest - kept
    return sorted(path for path in folder.glob("[0-9]*") if int(path.name[:6]) <= upto)


def _notices(history: History, kept: int) -> list[Path]:
    folder = history.layout.notices
    found = [folder / f"{number:06d}-held.json" for number in range(1, kept + 3)]
    for path in found:
        _write(path)
    return found


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("left")


def a_human_decision(history: History, run_id: str) -> Path:
    """The folder of a run by which a person released an increment."""
    folder = history.layout.run(run_id)
    fix_request(folder, RunRequest(role="release", increment=1, by="ann", reason="known"))
    return folder
