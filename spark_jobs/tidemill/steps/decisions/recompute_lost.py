"""Recomputes an increment that lost its race, from what is published."""

from tidemill.contract.errors import Refused
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import RunRequest, read_request
from tidemill.steps.decisions.backfill import backfill
from tidemill.steps.decisions.rebuild import rebuild
from tidemill.steps.decisions.reject import reinstate
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext


class NothingAsked(Refused):
    """A run has an increment that was computed again, and no request that says how."""


def recompute_lost(run: RunContext) -> int:
    """Compute a run's increment again and seal it in the place of the one that lost.

    Args:
        lease: Held by the caller, so that nothing is published meanwhile; None where it may be.

    Returns:
        The new increment's number.

    Raises:
        NothingAsked: the run has no request.
    """
    folder = run.pipeline.layout.run(run.run_id)
    ended = _computed(run, read_request(folder))
    run.log(ended.reason)
    own = read_run_increment(folder)
    if own is None:
        raise _nothing_asked(run)
    return own


def _computed(run: RunContext, request: RunRequest) -> Ended:
    match request.role:
        case "backfill":
            return backfill(run, request, lost_race=True)
        case "reinstate":
            return reinstate(run, request, lost_race=True)
        case "rebuild":
            return rebuild(run, request, lost_race=True)
        case _:
            raise _nothing_asked(run)


def _nothing_asked(run: RunContext) -> NothingAsked:
    return NothingAsked(
        f"Run {run.run_id} has what another run computed, and that lost its race.",
        remedy="Clear the task publish of the run that it belongs to.",
        run_id=run.run_id,
    )
