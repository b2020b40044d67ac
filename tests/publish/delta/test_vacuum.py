"""Upkeep by somebody else: a full vacuum without retention takes nothing that we still need."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.histories.history_builder import History, reject, rows, tree
from tidemill.contract.report import Outcome


def vacuum(path: Path) -> list[str]:
    """Delete all that the table does not name, and at once."""
    return DeltaTable(path).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
    )


@pytest.fixture
def held(history: History) -> History:
    """Published, held, and passed behind it; one more batch awaits the gate."""
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment(rows(2), [reject("b")], outcome="held")
    history.increment(rows(3))
    history.batch(rows(4))
    return history


def test_a_vacuum_deletes_what_lies_about_in_the_table(held: History) -> None:
    # Or the tests below would show nothing.
    (held.layout.table / "stray.parquet").write_bytes(b"PAR1")
    assert vacuum(held.layout.table) == ["stray.parquet"]


def test_a_held_increment_survives_a_full_vacuum(held: History) -> None:
    before = tree(held.sink)
    assert vacuum(held.layout.table) == []
    assert tree(held.sink) == before


def test_after_a_full_vacuum_and_its_release_nothing_is_lost(held: History) -> None:
    vacuum(held.layout.table)
    vacuum(held.layout.rejected)
    held.release(2)
    assert held.publish("run-3").outcome is Outcome.DONE
    held.judge(held.seal().increment)
    held.publish()
    assert (held.ids(), held.records()) == ([1, 2, 3, 4], ["a", "b"])


def test_published_files_may_be_compacted_and_removed(held: History) -> None:
    held.release(2)
    held.publish()
    assert held.delta().optimize.compact()["numFilesRemoved"] == 3
    vacuum(held.layout.table)
    # No vacuum goes there; upkeep of our own may, once they are no longer the table's.
    for batch in (0, 1, 2):
        for file in held.files(batch):
            file.unlink()
    assert held.ids() == [1, 2, 3]
    held.judge(held.seal().increment)
    assert held.publish().outcome is Outcome.DONE
    assert (held.ids(), held.records()) == ([1, 2, 3, 4], ["a", "b"])


def test_a_vacuum_between_the_copy_of_rejected_rows_and_its_commit_costs_nothing(
    held: History,
) -> None:
    held.release(2)
    stray = held.layout.rejected / "live-0001-000002-000001.parquet"
    stray.write_bytes(b"PAR1 of a publish that was killed")
    assert vacuum(held.layout.rejected) == [stray.name]
    held.publish()
    assert held.records() == ["a", "b"]
