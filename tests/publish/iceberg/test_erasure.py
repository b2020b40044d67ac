"""Erased rows leave an Iceberg table, its manifests, and the snapshots before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pyiceberg.table import Table

from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, row
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.report import Outcome
from tidemill.publish.erased_rows import ErasedRows
from tidemill.publish.iceberg.earlier import EarlierSnapshots, RowsKept
from tidemill.publish.iceberg.erasure import TableErasure
from tidemill.publish.target_heads import verify_target
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.steps.upkeep.erase.plan import ErasePlan, plan_erase

PERSON = "ann@example.org"
TOLD = Condition({"text": (PERSON,)})
SECOND = date(2024, 1, 2)


@pytest.fixture
def past(history: History) -> History:
    """Two published increments with a person in each."""
    history.increment([row(1), row(2, text=PERSON), row(3, SECOND)])
    history.increment([row(4, SECOND, text=PERSON), row(5, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


def erased(history: History, condition: Condition = TOLD) -> ErasePlan:
    return erase(history.run("erase"), condition, by="ann", reason="a request")


def entries(table: Table) -> Iterator[object]:
    """What the manifests of all snapshots say, of removed files too."""
    for snapshot in table.snapshots():
        for manifest in snapshot.manifests(table.io):
            yield from manifest.fetch_manifest_entry(table.io, discard_deleted=False)


def assert_gone(history: History, catalogue: Catalogue, ids: list[int]) -> None:
    """The others are there, and neither a snapshot nor a file holds the person."""
    assert (catalogue.ids(), history.ids()) == (ids, ids)
    table = catalogue.table()
    (snapshot,) = table.snapshots()
    assert PERSON.encode() not in str([*entries(table)]).encode()
    named = {one.manifest_path for one in snapshot.manifests(table.io)} | {snapshot.manifest_list}
    assert {f"file://{path}" for path in catalogue.home.rglob("*.avro")} == named
    for target in history.pipeline.spec.publish:
        verify_target(history.pipeline, target.name)


def test_they_leave_every_snapshot(past: History, catalogue: Catalogue) -> None:
    assert PERSON in str([*entries(catalogue.table())])
    assert [*plan_erase(past.pipeline, TOLD).remote.values()] == [2]
    erased(past)
    assert_gone(past, catalogue, [1, 3, 5])
    assert plan_erase(past.pipeline, TOLD).needed is False


def test_it_goes_on_afterwards(past: History, catalogue: Catalogue) -> None:
    erased(past)
    past.increment([row(6, SECOND)])
    assert past.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1, 3, 5, 6]
    made_again(past, [row(7, SECOND)], partitions=days("2024-01-02"))
    assert past.publish("again").outcome is Outcome.DONE
    assert catalogue.ids() == [1, 7]


def test_rows_that_only_an_earlier_snapshot_has_go_too(past: History, catalogue: Catalogue) -> None:
    made_again(past, [row(20, SECOND)], partitions=days("2024-01-02"))
    made_again(past, [row(10)], run_id="first", partitions=days("2024-01-01"))
    past.publish("again")
    past.publish("first")
    assert [*plan_erase(past.pipeline, TOLD).remote.values()] == [0]
    erased(past)
    assert_gone(past, catalogue, [10, 20])


def test_files_of_another_engine_are_written_again(past: History, catalogue: Catalogue) -> None:
    table = catalogue.table()
    table.overwrite(table.scan().to_arrow())
    other = catalogue.files()
    assert all(path.is_relative_to(catalogue.home) for path in other)
    erased(past)
    assert_gone(past, catalogue, [1, 3, 5])
    assert {*catalogue.home.rglob("*.parquet")} == catalogue.files()


@pytest.mark.parametrize(
    ("part", "at"),
    [(EarlierSnapshots, "remove"), (TableErasure, "commit")],
    ids=["remove", "commit"],
)
def test_an_interrupted_one_is_finished(
    past: History, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, part: type, at: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(part, at, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            erased(past)
    erased(past)
    assert_gone(past, catalogue, [1, 3, 5])


def test_a_manifest_that_is_gone_already_is_no_obstacle(
    past: History, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was interrupted while it removed the metadata of earlier snapshots."""
    with monkeypatch.context() as patched:
        patched.setattr(
            "pyiceberg.table.maintenance.MaintenanceTable.expire_snapshots",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            erased(past)
    erased(past)
    assert_gone(past, catalogue, [1, 3, 5])


def test_a_tag_that_keeps_a_snapshot_is_refused_before_anything_changes(
    past: History, catalogue: Catalogue
) -> None:
    table = catalogue.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.manage_snapshots().create_tag(snapshot.snapshot_id, "audit").commit()
    with pytest.raises(RowsKept):
        erased(past)
    assert catalogue.ids() == [1, 2, 3, 4, 5]
    assert not (past.layout.home / "erasures").exists()


def test_numbers_and_dates_are_compared_as_such(past: History, catalogue: Catalogue) -> None:
    table = catalogue.table()
    for told, held in (({"id": (3, 4), "text": ("row 3",)}, 1), ({"day": (SECOND,)}, 3)):
        assert TableErasure("orders", table, ErasedRows(told)).count() == held
    erased(past, Condition({"id": ("3", "4"), "text": ("row 3",)}))
    assert catalogue.ids() == [1, 2, 4, 5]


def test_without_the_rows_its_snapshots_stay(past: History, catalogue: Catalogue) -> None:
    erased(past, Condition({"text": ("nobody",)}))
    assert len(catalogue.table().snapshots()) == 2
    assert all(Path(path).exists() for path in catalogue.files())
