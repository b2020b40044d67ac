"""Ingest: the only step that always needs Spark."""

from tidemill.contract.report import Outcome
from tidemill.ledger.run_request import read_request
from tidemill.steps.decisions.backfill import backfill
from tidemill.steps.decisions.rebuild import rebuild
from tidemill.steps.decisions.redo import redo
from tidemill.steps.decisions.reject import reinstate
from tidemill.steps.decisions.rewind import rewind
from tidemill.steps.parts.live_ingest import ingest_live
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext


def ingest(run: RunContext) -> Ended:
    """Take in what is new, or compute again what the run was asked for."""
    request = read_request(run.pipeline.layout.run(run.run_id))
    match request.role:
        case "live":
            return ingest_live(run)
        case "backfill":
            return backfill(run, request)
        case "redo":
            ended = redo(run, request)
            # A fork has taken nothing in yet: the tail is new to it.
            return ingest_live(run) if ended.facts.get("forked") else ended
        case "reinstate":
            return reinstate(run, request)
        case "rebuild":
            return rebuild(run, request)
        case "rewind":
            return rewind(run, request)
        case "release" | "reject":
            return Ended(Outcome.DONE, f"a {request.role} computes nothing")
