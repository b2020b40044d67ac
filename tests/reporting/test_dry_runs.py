"""What a dry run said is found where its backfill is held."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.held_recomputation import dry_run, hold_again
from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Outcome
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.run_kinds import RecomputationKind
from tidemill.reporting.incident import Incident, read_incident
from tidemill.spec.spec import Gate

DAYS = Partitions(columns=("day",), values=(("2026-03-01",), ("2026-03-02",)))
FIRST_DAY = Partitions(columns=("day",), values=(("2026-03-01",),))
WIDER = Partitions(columns=("day",), values=(*DAYS.values, ("2026-03-03",)))
OTHER_DAY = Partitions(columns=("day",), values=(("2026-03-09",),))


def held(history: History, of: Partitions, kind: RecomputationKind = "backfill") -> Incident:
    history.increment(rows(1))
    history.publish()
    return read_incident(history.layout, hold_again(history, of, kind), Gate())


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
    release, _ = held(History(tmp_path), DAYS).choices
    assert release.action == "release"
    assert str(DAYS) in release.consequence


def test_an_increment_of_a_live_run_has_no_dry_run(tmp_path: Path) -> None:
    history = History(tmp_path)
    dry_run(history, "same", DAYS)
    history.increment(rows(1), outcome="held")
    assert read_incident(history.layout, 1, Gate()).dry_run is None
