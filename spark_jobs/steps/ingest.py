"""Ingest: the only step that always needs Spark."""

from __future__ import annotations

import os

from spark_jobs.contract import report as reports
from spark_jobs.contract.report import Outcome
from spark_jobs.ledger.lease import hold
from spark_jobs.steps.step import Ended, Run


def ingest(run: Run) -> Ended:
    """Take in what is available now, in batches that Spark commits exactly once.

    Raises:
        Refused: the generation's parts do not belong together.
        LeaseHeld: another live process writes to this pipeline.
        QueryFailed: the query failed in a way that a retry will meet again.
        QueryInterrupted: a retry may help.
    """
    # Spark is imported here so that the other steps, and a step that is refused, never load it.
    from spark_jobs.engine import ingest as engine
    from spark_jobs.engine.session import open_session

    pipeline, layout = run.pipeline, run.pipeline.layout
    seen = reports.read(layout.run(run.run_id), "doctor")
    backlog = seen.facts.get("backlog_bytes") if seen else None
    with hold(layout.lease, step="ingest", run_id=run.run_id, on_loss=_leave) as lease:
        session = open_session(pipeline, "ingest", backlog)
        written = engine.ingest(session, pipeline, lease, run.run_id, run.say)
    rows = sum(batch.rows for batch in written)
    rejected = sum(batch.rejected for batch in written)
    facts = {
        "batches": [batch.batch for batch in written],
        "files": sum(len(batch.inputs) for batch in written),
        "rows": rows,
        "rejected": rejected,
        "rows_in": [batch.rows_in for batch in written],
    }
    reason = f"{len(written)} batches, {rows:,} rows, {rejected:,} rejected"
    return Ended(Outcome.DONE, reason, facts)


def _leave() -> None:
    """End at once: a newer epoch owns the checkpoint, and whatever we still did would be lost."""
    os._exit(1)
