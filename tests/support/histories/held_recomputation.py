"""A backfill or rebuild that the gate holds, and the dry run that came before it."""

from __future__ import annotations

import os

from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import History
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.ledger.run_request import RunRequest, fix_request


def dry_run(
    history: History, run_id: str, of: Partitions | None, *, ended: Outcome = Outcome.DONE
) -> None:
    """A dry run, of a rebuild where it names no partitions; the later ones are newer."""
    folder = history.layout.run(run_id)
    role = "rebuild" if of is None else "backfill"
    fix_request(folder, RunRequest(role=role, dry_run=True, by="ada"))
    facts = {} if of is None else {"dry_run": _found(of)}
    report = report_of("ingest", ended, reason=f"{run_id} said", facts=facts)
    reports.write(report.model_copy(update={"run_id": run_id}), folder)
    touched = len(list(folder.parent.iterdir()))
    os.utime(folder, (touched, touched))


def _found(of: Partitions) -> dict[str, object]:
    rows = {"rows": 8, "rejected": 2, "added": 8, "removed": 7, "changed": 0}
    inputs = {"inputs": 7, "input_bytes": 1_500, "input_rows": 30, "skipped": 0}
    return {"columns": of.columns, "partitions": of.values, **rows, **inputs}


def hold_again(history: History, of: Partitions, kind: RecomputationKind = "backfill") -> int:
    """An increment that computed partitions of the first one again, and is held; its number."""
    again = Recomputation(
        kind=kind, generation="live-0001", first=0, last=0, seq=1, code_hash="c", spec_hash="s",
        by="ada", reason="mended", partitions=of,
    )  # fmt: skip
    number = max(history.increments.numbers()) + 1
    sealed = history.snapshot.get(1).sealed
    changes = {"increment": number, "run_id": f"run-{number}", "recomputation": again}
    history.increments.seal(sealed.model_copy(update=changes))
    history.judge(number, "held")
    return number
