"""Folders of runs that are over: requests, reports and logs."""

from collections.abc import Iterator

from tidemill.generations.build import generation_builds
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import read_request
from tidemill.steps.upkeep.leftover import Leftover, leftover
from tidemill.storage.folders import entries, touched


def finished_runs(snapshot: Snapshot, before: float, kept: int) -> Iterator[Leftover]:
    """The folders of old runs whose retry would find nothing left to do.

    Decisions of people stay, runs that built a generation or were reprocessed, and every run whose
    increment is not published, rejected or superseded. Status and pages look at the newest runs,
    the alarm of a feed that never came at the first: these stay too.

    Args:
        before: A run with a younger file stays; in seconds since 1970.
        kept: How many of the newest stay.
    """
    layout = snapshot.layout
    found_runs = sorted((one for one in entries(layout.runs) if one.is_dir), key=touched)
    folders = [one.path for one in found_runs]
    built = {layout.run(one.run_id) for one in generation_builds(layout)}
    open_ones = snapshot.rows_to_come
    open_increments = {one.number for one in open_ones}
    needed = built | {layout.run(one.sealed.run_id) for one in open_ones}
    for folder in folders[1:-kept]:
        if folder in needed or (folder / "reprocessed").exists():
            continue
        found = leftover("run", folder)
        if found is None or found.modified >= before:
            continue
        if read_request(folder).role not in ("live", "backfill"):
            continue
        if read_run_increment(folder) not in open_increments:
            yield found
