"""Decide: carries out a person's decision about a held increment, before anything else runs."""

from tidemill.contract.report import Outcome
from tidemill.ledger.run_increment import read_run_increment
from tidemill.ledger.run_request import read_request
from tidemill.steps.decisions.check_request import increment_of
from tidemill.steps.decisions.reject import reject
from tidemill.steps.decisions.release import release
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext


def decide(run: RunContext) -> Ended:
    """Record the release or the rejection that a run was asked for; any other run has none.

    Returns:
        `done`; the increment is the run's own from then on.

    Raises:
        NotHeld: the increment awaits no decision any more.
        NotRejectable: its input cannot be excluded.
        LeaseHeld: a step is writing to this pipeline.
    """
    folder = run.layout.run(run.run_id)
    request, own = read_request(folder), read_run_increment(folder)
    if request.role not in ("release", "reject"):
        return Ended(Outcome.DONE, f"there is nothing to decide: this is a {request.role} run")
    if own is not None:
        return Ended(Outcome.DONE, f"decided already: increment {own:06d}", {"increment": own})
    number, by, reason = increment_of(run.pipeline, request), request.by, request.reason
    if request.role == "release":
        release(run.pipeline, number, by=by, reason=reason, run_id=run.run_id, clock=run.clock)
    else:
        reject(
            run.pipeline,
            number,
            by=by,
            reason=reason,
            run_id=run.run_id,
            log=run.log,
            clock=run.clock,
        )
    return Ended(
        Outcome.DONE,
        f"{request.role} of increment {number:06d} by {request.by}",
        {"role": request.role, "by": request.by, "reason": request.reason, "increment": number},
    )
