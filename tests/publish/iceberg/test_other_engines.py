"""Other engines commit to the table too: no race, rollback or expiry loses or repeats an event."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType

from tests.support.error_code import code_of
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, row, rows
from tests.support.iceberg_catalogue import TABLE, Catalogue
from tidemill.contract.report import Outcome
from tidemill.publish import registry
from tidemill.publish.head import TableTaken
from tidemill.publish.iceberg import target as iceberg
from tidemill.publish.iceberg.columns import PartitionsChanged
from tidemill.publish.iceberg.target import CatalogContended, IcebergTarget
from tidemill.publish.target_heads import TargetBehindJournal, verify_target
from tidemill.storage.lease import newest_epoch

NAME = "iceberg.tidemill.sales.orders"
Interfere = Callable[..., list[int]]


@pytest.fixture
def second(history: History) -> History:
    """One increment published, a second one passed."""
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2))
    return history


@pytest.fixture
def interfere(monkeypatch: pytest.MonkeyPatch, catalogue: Catalogue) -> Interfere:
    """Lets somebody write to the table between our look at it and our commit.

    The answer is a list that grows by one with each attempt of ours.
    """

    def install(write: Callable[[Table], object], times: int = 1) -> list[int]:
        attempts: list[int] = []
        commit = IcebergTarget._commit

        def interfered(target: IcebergTarget, *arguments: Any) -> None:
            attempts.append(len(attempts))
            if len(attempts) <= times:
                write(catalogue.table())
            commit(target, *arguments)

        monkeypatch.setattr(IcebergTarget, "_commit", interfered)
        monkeypatch.setattr(iceberg, "WAIT_SECONDS", 0.001)
        return attempts

    return install


def append(table: Table, number: int) -> None:
    """What another engine does: rows in a file of its own."""
    columns = table.scan().to_arrow().schema
    table.append(pa.Table.from_pylist([{"id": number, "day": row(1)["day"]}], columns))


def test_rows_that_somebody_else_appends_meanwhile_stay_and_ours_come_once(
    second: History, catalogue: Catalogue, interfere: Interfere
) -> None:
    attempts = interfere(lambda table: append(table, 99))
    assert second.publish().outcome is Outcome.DONE
    assert (catalogue.ids(), len(attempts)) == ([1, 2, 99], 2)


def test_a_zombie_that_looked_before_the_newer_run_committed_publishes_nothing(
    second: History, catalogue: Catalogue, interfere: Interfere
) -> None:
    second.publish()
    (second.layout.journal / f"000002.{NAME}.json").unlink()
    catalogue.table().manage_snapshots().rollback_to_snapshot(
        catalogue.table().snapshots()[0].snapshot_id
    ).commit()
    event = second.journal.event(2)
    assert event is not None
    newer = registry.targets_of(second.pipeline, 999, lambda _: None)[-1]
    older = registry.targets_of(second.pipeline, 998, lambda _: None)[-1]
    overtaken = iter([True])

    def publish_first(table: Table) -> None:
        if next(overtaken, False):
            newer.apply(event, second.payload(event))

    interfere(publish_first)
    with pytest.raises(Exception, match="999") as lost:
        older.apply(event, second.payload(event))
    assert type(lost.value).__name__ == "LeaseLost"
    assert catalogue.ids() == [1, 2]


def test_whoever_always_loses_may_try_again_later(
    second: History, catalogue: Catalogue, interfere: Interfere
) -> None:
    attempts = interfere(lambda table: append(table, 99), times=100)
    report = second.publish()
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert code_of(report) == CatalogContended.__name__
    assert len(attempts) == iceberg.ATTEMPTS
    assert 2 not in catalogue.ids()


def test_our_commits_are_not_repeated_by_the_client_and_others_are_as_the_table_says(
    second: History, catalogue: Catalogue
) -> None:
    with catalogue.table().transaction() as change:
        change.set_properties({"commit.retry.num-retries": "7"})
    target = registry.targets_of(second.pipeline, 99, lambda _: None)[-1]
    assert isinstance(target, IcebergTarget)
    loaded = target._load()
    assert loaded is not None
    assert loaded.properties["commit.retry.num-retries"] == "0"
    second.publish()
    assert catalogue.table().properties["commit.retry.num-retries"] == "7"
    assert catalogue.ids() == [1, 2]


def test_a_table_that_was_rolled_back_is_refused_and_filled_up_again(
    second: History, catalogue: Catalogue
) -> None:
    second.publish()
    table = catalogue.table()
    table.manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()
    with pytest.raises(TargetBehindJournal) as behind:
        verify_target(second.pipeline, NAME)
    assert behind.value.head == 1
    (second.layout.journal / f"000002.{NAME}.json").unlink()
    assert second.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1, 2]


def test_the_head_is_known_after_our_snapshots_have_expired(
    second: History, catalogue: Catalogue
) -> None:
    append(catalogue.table(), 99)
    expire = catalogue.table().maintenance.expire_snapshots()
    expire.older_than(datetime.now(UTC) + timedelta(days=1)).commit()
    assert len(catalogue.table().snapshots()) == 1
    (second.layout.journal / f"000001.{NAME}.json").unlink()
    report = second.publish()
    assert report.outcome is Outcome.DONE
    assert catalogue.ids() == [1, 2, 99]
    verify_target(second.pipeline, NAME)


def test_a_swap_removes_what_somebody_else_compacted(second: History, catalogue: Catalogue) -> None:
    second.publish()
    table = catalogue.table()
    # As a compaction does: the same rows in one file, of another folder.
    table.overwrite(table.scan().to_arrow())
    made_again(second, rows(20), partitions=days("2024-01-01"))
    assert second.publish("again").outcome is Outcome.DONE
    assert catalogue.ids() == [20]


def test_rows_of_somebody_else_are_never_mixed_with_ours(
    history: History, catalogue: Catalogue
) -> None:
    catalogue.open().create_namespace("sales")
    table = catalogue.open().create_table(TABLE, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [7]}))
    history.increment(rows(1))
    assert code_of(history.publish()) == TableTaken.__name__
    assert catalogue.ids() == [7]


def test_a_table_of_another_pipeline_is_not_ours(second: History, catalogue: Catalogue) -> None:
    with catalogue.table().transaction() as change:
        change.update_snapshot(
            snapshot_properties={
                "tidemill.journal": "1",
                "tidemill.pipeline": "other",
                "tidemill.batch": "0",
            }
        ).fast_append().commit()
    assert code_of(second.publish()) == TableTaken.__name__
    assert catalogue.ids() == [1]


def test_partitions_that_the_files_do_not_have_are_refused(
    second: History, catalogue: Catalogue
) -> None:
    with catalogue.table().update_spec() as update:
        update.add_field("id", BucketTransform(4), "bucket")
    report = second.publish()
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, PartitionsChanged.__name__)
    assert catalogue.ids() == [1]


def test_a_column_that_comes_later_is_added(second: History, catalogue: Catalogue) -> None:
    second.publish()
    second.start(second.columns.append(pa.field("extra", pa.struct([("a", pa.int16())]))))
    second.increment([row(3, extra={"a": 5}), row(4)])
    assert second.publish().outcome is Outcome.DONE
    assert sorted(
        (one["id"], one["extra"]) for one in catalogue.table().scan().to_arrow().to_pylist()[:2]
    ) == [(3, {"a": 5}), (4, None)]
    assert catalogue.ids() == [1, 2, 3, 4]


def test_a_column_that_has_another_type_is_refused(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    history.publish()
    with catalogue.table().update_schema() as update:
        update.add_column("foreign", LongType())
    history.increment(rows(2))
    report = history.publish()
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, "SchemaChanged")
    assert catalogue.ids() == [1]


def test_an_empty_table_that_somebody_made_is_used(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    columns = pa.schema([*history.columns, pa.field("day", pa.date32())])
    catalogue.open().create_namespace("sales")
    table = catalogue.open().create_table(TABLE, columns)
    with table.update_spec() as update:
        update.add_identity("day")
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1]


def test_the_newest_lease_is_the_fence_even_after_a_rollback(
    second: History, catalogue: Catalogue
) -> None:
    second.publish()
    epoch = newest_epoch(second.layout.lease)
    table = catalogue.table()
    table.manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()
    target = registry.targets_of(second.pipeline, epoch, lambda _: None)[-1]
    assert isinstance(target, IcebergTarget)
    head = target.read_head()
    assert head is not None
    assert (head.seq, head.epoch) == (1, epoch)
