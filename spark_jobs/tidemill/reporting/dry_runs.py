"""The dry run that came before a recomputation, where somebody has looked first."""

from datetime import datetime
from typing import Any

from tidemill.contract import report as reports
from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.increments.status import IncrementStatus
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_request import read_request
from tidemill.storage.folders import entries, touched

# The newest runs among which it is looked for, so that the cost does not grow with the past.
NEWEST = 200


class DryRunResult(FrozenModel):
    """What a dry run said.

    Attributes:
        said: Its sentence, such as how many rows would be added, removed and changed.
        at: When it ended, UTC.
    """

    run_id: str
    said: str
    at: datetime


def find_dry_run(layout: Layout, increment: IncrementStatus) -> DryRunResult | None:
    """The newest dry run of what an increment computed again; None where there is none.

    Args:
        increment: One of a backfill or a rebuild; any other has no dry run.
    """
    if increment.recomputation not in ("backfill", "rebuild") or not layout.runs.is_dir():
        return None
    folders = sorted(entries(layout.runs), key=touched, reverse=True)[:NEWEST]
    for run_id in (folder.path.name for folder in folders if folder.is_dir):
        request = read_request(layout.run(run_id))
        if not request.dry_run or request.role != increment.recomputation:
            continue
        report = reports.read(layout.run(run_id), "ingest")
        if report is None or report.outcome is not Outcome.DONE:
            continue
        if _covers(report.facts.get("dry_run"), increment.partitions):
            return DryRunResult(run_id=report.run_id, said=report.reason, at=report.finished)
    return None


def _covers(found: dict[str, Any] | None, wanted: Partitions | None) -> bool:
    """Whether a dry run was of these partitions, among others; a rebuild is of everything."""
    if wanted is None or wanted.everything:
        return not (found and found["columns"])
    if found is None or tuple(found["columns"]) != wanted.columns:
        return False
    return {*wanted.values} <= {tuple(value) for value in found["partitions"]}
