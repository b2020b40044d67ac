"""Recomputes an increment that lost its race, from what is published."""

from dataclasses import replace

from tidemill.contract.errors import Refused
from tidemill.increments.increment import Increment
from tidemill.increments.records import Rejection
from tidemill.increments.snapshot import Snapshot
from tidemill.ledger.run_increment import read_run_increment, remember_instead
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.steps.decisions.backfill import backfill
from tidemill.steps.decisions.rebuild import rebuild
from tidemill.steps.decisions.recomputed import leased
from tidemill.steps.decisions.reject import reinstate
from tidemill.steps.decisions.rewind import rewind
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext


class NothingAsked(Refused):
    """An increment that lost its race has no request that says how to compute it again.

    Carries `run_id` and `increment`.
    """


def recompute_lost(run: RunContext, lost: Increment) -> int:
    """Compute an increment again as it was asked for, and seal it in the place of the one lost.

    Where nothing has to be sealed, because another increment holds the same rows or none are left,
    the one that lost is dropped: no run is asked for it again.

    Args:
        run: The run that publishes; it holds the lease where nothing may be published meanwhile.
        lost: The increment that lost its race.

    Returns:
        The new increment's number; it is also that of this run, if the lost one was.

    Raises:
        NothingAsked: its run has no request.
    """
    layout = run.layout
    asked = replace(run, run_id=lost.sealed.run_id)
    folder = layout.run(asked.run_id)
    ended = _computed(asked, read_request(folder), lost)
    run.log(ended.reason)
    number = read_run_increment(folder)
    if number is None:
        raise _nothing_asked(asked, lost)
    if not Snapshot(layout).get(lost.number).superseded:
        _drop(run, lost, ended.reason)
    if read_run_increment(layout.run(run.run_id)) == lost.number:
        remember_instead(layout.run(run.run_id), number)
    return number


def _drop(run: RunContext, lost: Increment, why: str) -> None:
    with leased(run, "publish") as held:
        snapshot = Snapshot(run.layout)
        now = snapshot.get(lost.number)
        if now.superseded or now.rejection is not None or lost.number in snapshot.event_of:
            return
        held.lease.check()
        snapshot.decide(
            Rejection(
                increment=lost.number,
                files_hash=lost.sealed.files_hash,
                by="tidemill",
                reason=why,
                rejected=run.clock(),
                epoch=held.epoch,
            )
        )


def _computed(run: RunContext, request: RunRequest, lost: Increment) -> Ended:
    match request.role:
        case "backfill":
            return backfill(run, request, lost_race=True)
        case "reinstate":
            return reinstate(run, request, lost_race=True)
        case "rebuild":
            return rebuild(run, request, lost_race=True)
        case "rewind":
            return rewind(run, request, lost_race=True)
        case _:
            raise _nothing_asked(run, lost)


def _nothing_asked(run: RunContext, lost: Increment) -> NothingAsked:
    return NothingAsked(
        f"Increment {lost.number:06d} lost its race, and its run {run.run_id} has no request that "
        "says how to compute it again.",
        remedy="Ask for the same again; what it was is in the list of `tidemill status "
        f"{run.pipeline.name}`.",
        run_id=run.run_id,
        increment=lost.number,
    )
