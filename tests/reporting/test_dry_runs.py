"""What a dry run said is found where its backfill is held."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.airflow.fake_step import report_of
from tests.support.histories.history_builder import History, rows
from tidemill.contract import report as reports
from tidemill.contract.report import Outcome
from tidemill.journal.partition_set import Partitions
from tidemill.journal.recomputation import Recomputation
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.spec import Gate

DAYS = Partitions(columns=("day",), values=(("2026-03-01",), ("2026-03-02",)))
FIRST_DAY = Partitions(columns=("day",), values=(("2026-03-01",),))
WIDER = Partitions(columns=("day",), values=(*DAYS.values, ("2026-03-03",)))
OTHER_DAY = Partitions(columns=("day",), values=(("2026-03-09",),))


def dry_run(
    history: History, run_id: str, of: Partitions | None, *, ended: Outcome = Outcome.DONE
) -> None:
    """A dry run, of a rebuild where it names no partitions; the later ones are newer."""
    folder = history.layout.run(run_id)
    role = "rebuild" if of is None else "backfill"
    fix_request(folder, RunRequest(role=role, dry_run=True, by="ada"))
    found = None if of is None else {"columns": of.columns, "partitions": of.values}
    facts = {} if found is None else {"dry_run": found}
    report = report_of("ingest", ended, reason=f"{run_id} said", facts=facts)
    reports.write(report.model_copy(update={"run_id": run_id}), folder)
    touched = len(list(folder.parent.iterdir()))
    os.utime(folder, (touched, touched))


def held(history: History, of: Partitions, kind: RecomputationKind = "backfill") -> Incident:
    """An increment that computed partitions again, and is held."""
    history.increment(rows(1))
    history.publish()
    history.batch(rows(1))
    again = Recomputation(
        kind=kind, generation="live-0001", first=0, last=0, seq=1, code_hash="c", spec_hash="s",
        by="ada", reason="mended", partitions=of,
    )  # fmt: skip
    sealed = history.snapshot.get(1).sealed
    history.increments.seal(sealed.model_copy(update={"increment": 2, "recomputation": again}))
    history.judge(2, "held")
    return read_incident(history.layout, 2, Gate())


@pytest.mark.parametrize(
    ("of", "kind", "found"),
    [
        (FIRST_DAY, "backfill", "wider"),
        (DAYS, "backfill", "wider"),
        (OTHER_DAY, "backfill", None),
        (Partitions(), "rebuild", "whole"),
    ],
)
def test_the_newest_dry_run_of_the_same_partitions_is_shown(
    tmp_path: Path, of: Partitions, kind: RecomputationKind, found: str | None
) -> None:
    history = History(tmp_path)
    for run_id, partitions in (("same", DAYS), ("wider", WIDER), ("whole", None)):
        dry_run(history, run_id, partitions)
    dry_run(history, "failed", WIDER, ended=Outcome.FAILED)

    said = held(history, of, kind).dry_run

    assert (said and said.run_id, said and said.said) == (found, found and f"{found} said")


def test_the_consequence_of_a_release_names_the_partitions_that_are_replaced(
    tmp_path: Path,
) -> None:
    (release,) = held(History(tmp_path), DAYS).choices
    assert release.action == "release"
    assert str(DAYS) in release.consequence


def test_an_increment_of_a_live_run_has_no_dry_run(tmp_path: Path) -> None:
    history = History(tmp_path)
    dry_run(history, "same", DAYS)
    history.increment(rows(1), outcome="held")
    assert read_incident(history.layout, 1, Gate()).dry_run is None
