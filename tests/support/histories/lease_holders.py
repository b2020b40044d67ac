"""Holders of a lease, written by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidemill.storage import documents
from tidemill.storage.lease import Holder, Released, newest_epoch
from tidemill.storage.processes import ProcessId, this_process


def holder_of(process: ProcessId, epoch: int = 1, launcher: ProcessId | None = None) -> Holder:
    return Holder(
        epoch=epoch,
        step="ingest",
        run_id="the other",
        process=process,
        launcher=launcher,
        since=datetime.now(UTC),
    )


def elsewhere(**changes: Any) -> ProcessId:
    return this_process().model_copy(update={"host": "elsewhere", **changes})


def write(folder: Path, holder: Holder) -> None:
    documents.put(folder / f"{holder.epoch:06d}.json", holder)


def take_over(folder: Path) -> int:
    """What another host does to a paused holder, and ends at once: the epoch that it had."""
    epoch = newest_epoch(folder) + 1
    write(folder, holder_of(elsewhere(), epoch=epoch))
    documents.put(folder / f"{epoch:06d}.released", Released(at=datetime.now(UTC)))
    return epoch
