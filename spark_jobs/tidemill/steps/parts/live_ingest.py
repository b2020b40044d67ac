"""A live ingest: runs the pipeline's query on new input."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tidemill.contract import report as reports
from tidemill.contract.counted import counted
from tidemill.contract.report import Outcome
from tidemill.ledger.late_rows import late_total
from tidemill.sources.probe_result import ProbeResult
from tidemill.steps.parts.run import Ended
from tidemill.storage.run_context import RunContext

if TYPE_CHECKING:
    from tidemill.engine.run.run_records import Ingested


def ingest_live(run: RunContext) -> Ended:
    """Take in what is available now, in batches that Spark commits exactly once.

    Raises:
        Refused: the generation's parts do not belong together.
        LeaseHeld: another live process writes to this pipeline.
        QueryFailed: the query failed in a way that a retry will meet again.
        QueryInterrupted: a retry may help.
    """
    # Spark is imported here so that the other steps, and a step that is refused, never load it.
    from tidemill.engine.run import ingest as engine
    from tidemill.engine.session import open_session

    pipeline, layout = run.pipeline, run.pipeline.layout
    backlog = reports.backlog_bytes([layout.run(run.run_id)])
    with run.hold("ingest") as held:
        session = open_session(pipeline, "ingest", backlog)
        found = engine.ingest(session, held)
    return ended(found)


def ended(found: Ingested) -> Ended:
    """The end of an ingest, in words and as facts."""
    batches = found.batches
    rows = sum(batch.rows for batch in batches)
    rejected = sum(batch.rejected for batch in batches)
    reasons = sum((Counter(batch.reasons) for batch in batches), Counter[str]())
    late = late_total(found.late)
    facts = {
        "query_id": found.query_id,
        "query_run_id": found.query_run_id,
        "batches": [batch.batch for batch in batches],
        "files": sum(len(batch.inputs) for batch in batches),
        "rows": rows,
        "rejected": rejected,
        "rejected_by_reason": dict(reasons),
        "rows_in": [batch.rows_in for batch in batches],
        "observed": {str(batch): metrics for batch, metrics in found.observed.items()},
        "late": late.model_dump(mode="json"),
        "state": found.state and found.state.model_dump(mode="json"),
        "stopped": found.stopped,
        "left": {look.source: _left(look) for look in found.left},
        "sources": {look.source: look.as_dict() for look in found.files},
    }
    done = counted(len(batches), "batch", "batches")
    reason = f"{done}, {counted(rows, 'row')}, {rejected:,} rejected"
    if late.rows or late.unknown:
        reason += f", {late}"
    if found.stopped is not None:
        left = [f"{_number(look.new)} {look.unit} of {look.source}" for look in found.left]
        reason += f", stopped: {found.stopped}" + (f", left: {', '.join(left)}" if left else "")
    return Ended(Outcome.DONE, reason, facts)


def _left(look: ProbeResult) -> dict[str, Any]:
    return {"new": look.new, "unit": look.unit, "bytes": look.backlog_bytes}


def _number(new: int | None) -> str:
    return "unknown" if new is None else f"{new:,}"
