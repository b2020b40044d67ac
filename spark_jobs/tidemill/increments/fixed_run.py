"""What a run of Airflow's does, fixed before its first step, also when Airflow reprocesses it."""

from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.contract.report import Outcome
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.reprocessed_run import current_run_id, next_run_id
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest, fix_request, read_request


def fix_run(layout: Layout, run_id: str, wanted: RunRequest) -> tuple[str, RunRequest]:
    """Fix what a run of Airflow's does, and the id under which it does it.

    A backfill is a backfill, whatever its run was before: where the run has taken in data, or was
    a backfill that is over, it gets a new id. Any other run finishes what it began.

    Args:
        run_id: Airflow's.
        wanted: What Airflow asks for.

    Returns:
        The id in the books, and what the run does.
    """
    current = current_run_id(layout, run_id)
    if wanted.role == "backfill" and _is_over(layout, current, wanted):
        current = next_run_id(layout, run_id)
    return current, fix_request(layout.run(current), wanted)


def has_run_dry(layout: Layout, run_id: str) -> bool:
    """Whether a run is a dry run that has said what would change.

    Args:
        run_id: Its id in the books.
    """
    folder = layout.run(run_id)
    if not read_request(folder).dry_run:
        return False
    found = reports.read(folder, "ingest")
    return found is not None and found.outcome is Outcome.DONE


def _is_over(layout: Layout, run_id: str, wanted: RunRequest) -> bool:
    """Whether a run has done what it was asked for, or is to do something else now."""
    folder = layout.run(run_id)
    request, own = read_request(folder), read_run_increment(folder)
    if own is None:
        # A dry run that has failed must not take the place of a real one.
        is_other = request.role == "backfill" and request.dry_run != wanted.dry_run
        return is_other or has_run_dry(layout, run_id)
    if request.role == "live":
        return True
    snapshot = Snapshot(layout)
    return own in snapshot.visible or snapshot.get(own).state.without_rows
