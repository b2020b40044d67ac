"""The request of a run, fixed when its doctor first runs.

Airflow makes a scheduled run a backfill when it is reprocessed, and its parameters can be given
again; a run that has an increment still finishes what it began.
"""

from datetime import datetime
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

from pydantic import AwareDatetime

from tidemill.contract.document import Document
from tidemill.contract.errors import UsageError
from tidemill.contract.os_user import os_user
from tidemill.contract.report import Step
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_kinds import Role
from tidemill.storage import documents


class RunRequest(Document):
    """The request of one run.

    Attributes:
        role: `live` takes in what is new; the others are what a person asked for.
        start: The start of the interval to backfill, inclusive.
        end: Exclusive.
        partitions: To backfill instead of an interval: column -> value as in directories' names.
        rejected: To backfill instead of an interval: the partitions that rejected rows would have.
        dry_run: Whether to say what would come of it, and change nothing.
        increment: The one that is released, rejected or reinstated; of a redo the held one.
        exclude: Files whose input a redo or rebuild leaves out from now on.
        accept_loss: A rebuild or rewind continues without input that the sources no longer hold.
        back_to: The run id of the run after which a rewind goes on.
        by: The person, as they or Airflow say.
        os_user: User of the asking process; None for live runs and in older documents.
        reason: Why, for the table's history.
        interval_start: The start of the data interval of Airflow's run, where the spec has a static
            input of the kind `batch`.
        interval_end: The end of it.
    """

    role: Role = "live"
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    partitions: tuple[dict[str, str | None], ...] = ()
    rejected: bool = False
    dry_run: bool = False
    increment: int | None = None
    exclude: tuple[str, ...] = ()
    accept_loss: bool = False
    back_to: str = ""
    by: str = ""
    os_user: str | None = None
    reason: str = ""
    asked: datetime | None = None
    interval_start: AwareDatetime | None = None
    interval_end: AwareDatetime | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of its run, in order; `decide` only for a decision about a held increment."""
        every: tuple[Step, ...] = get_args(Step)
        decides = self.role in ("release", "reject")
        return every if decides else tuple(step for step in every if step != "decide")


class PartitionMalformed(UsageError):
    """A partition is not written as column=value; carries `given`."""


def partition_named(text: str) -> dict[str, str | None]:
    """A partition as directories name it: `year=2012`, or `year=2012/state=CA`.

    Raises:
        PartitionMalformed: a part lacks a column or its value.
    """
    pairs = [part.partition("=") for part in text.strip().strip("/").split("/")]
    if not all(name and equals and value for name, equals, value in pairs):
        raise PartitionMalformed(
            f"'{text}' does not name a partition.",
            remedy="Write column=value, such as year=2012, and several columns with a slash "
            "between them: year=2012/state=CA.",
            given=text,
        )
    return {name: unquote(value) for name, _, value in pairs}


LIVE = RunRequest()


def read_request(run_folder: Path) -> RunRequest:
    """The request of a run; a run without one is live.

    Args:
        run_folder: `Layout.run(run_id)`.
    """
    numbered = [path for _, path in documents.numbered(run_folder / "requests")]
    found = documents.read(numbered[-1], RunRequest) if numbered else None
    return found or LIVE


def fix_request(run_folder: Path, wanted: RunRequest) -> RunRequest:
    """Fix what a run does, unless it is fixed already.

    A live run that has sealed nothing may become another when it is reprocessed; one that has an
    increment keeps its role, and so does every other run.

    Args:
        run_folder: `Layout.run(run_id)`.

    Returns:
        What it does.
    """
    numbers = [number for number, _ in documents.numbered(run_folder / "requests")]
    fixed = read_request(run_folder)
    began = bool(numbers) and fixed.role != "live"
    if began or (numbers and wanted.role == "live") or read_run_increment(run_folder) is not None:
        return fixed
    if wanted.role != "live":
        wanted = wanted.model_copy(update={"os_user": os_user()})
    place = run_folder / "requests" / f"{max(numbers, default=0) + 1:03d}.json"
    documents.put_if_absent(place, wanted)
    return read_request(run_folder)
