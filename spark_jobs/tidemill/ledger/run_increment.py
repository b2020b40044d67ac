"""The increment that a run sealed, so that clearing its gate judges the same one again."""

from pathlib import Path

from tidemill.contract.document import Document
from tidemill.storage import documents


class RunIncrement(Document):
    """The increment of a run."""

    increment: int


def read_run_increment(run_folder: Path) -> int | None:
    """The increment's number, or None where the run has sealed nothing.

    A backfill that lost its race and was computed again has the last one.
    """
    found = documents.read(run_folder / "increment.json", RunIncrement)
    for _, path in documents.numbered(run_folder / "increments"):
        found = documents.read(path, RunIncrement)
    return None if found is None else found.increment


def remember(run_folder: Path, increment: int) -> None:
    """Note a run's increment, once."""
    documents.put_if_absent(run_folder / "increment.json", RunIncrement(increment=increment))


def remember_instead(run_folder: Path, increment: int) -> None:
    """Note that a run's increment was computed again, as another one.

    Raises:
        AlreadyWritten: another process of the run has computed it again too.
    """
    numbers = [number for number, _ in documents.numbered(run_folder / "increments")]
    place = run_folder / "increments" / f"{max(numbers, default=1) + 1:03d}.json"
    documents.put(place, RunIncrement(increment=increment))


def tries(run_folder: Path) -> int:
    """The number of times that a run's increment was computed."""
    first = 1 if (run_folder / "increment.json").exists() else 0
    return first + sum(1 for _ in documents.numbered(run_folder / "increments"))
