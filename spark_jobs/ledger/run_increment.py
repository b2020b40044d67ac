"""Which increment a run sealed: clearing its gate later judges that one, and no other."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from spark_jobs.ledger import documents


class RunIncrement(BaseModel):
    """The increment of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    increment: int


def read_run_increment(run_folder: Path) -> int | None:
    """The increment's number, or None where the run has sealed nothing."""
    found = documents.read(run_folder / "increment.json", RunIncrement)
    return None if found is None else found.increment


def remember(run_folder: Path, increment: int) -> None:
    documents.put_if_absent(run_folder / "increment.json", RunIncrement(increment=increment))
