"""A swap removes exactly the files of its partitions in one snapshot, a rebuild all files."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from tests.support.histories.generation_builder import days, made_again, rebuilt, tail_redone
from tests.support.histories.history_builder import COLUMNS, History, row, rows
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Event
from tidemill.publish.iceberg.target import IcebergTarget
from tidemill.publish.payload import Payload
from tidemill.spark_logs.partition_paths import NULL_PARTITION

FIRST, SECOND, THIRD = (date(2024, 1, number) for number in (1, 2, 3))


@pytest.fixture
def three_days(history: History) -> History:
    """Two increments with rows of three days, published."""
    history.increment([row(1), row(2, SECOND), row(3, THIRD)])
    history.increment([row(4), row(5, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


def by_day(catalogue: Catalogue) -> dict[date | None, list[int]]:
    found: dict[date | None, list[int]] = {}
    for number, day in sorted(catalogue.rows("id", "day").elements()):
        found.setdefault(day, []).append(number)
    return found


def test_rows_of_its_partitions_are_replaced_in_one_snapshot(
    three_days: History, catalogue: Catalogue
) -> None:
    before = catalogue.files()
    made_again(three_days, [row(20, SECOND), row(21, SECOND)], partitions=days("2024-01-02"))
    assert three_days.publish("again").outcome is Outcome.DONE
    assert by_day(catalogue) == {FIRST: [1, 4], SECOND: [20, 21], THIRD: [3]}
    *_, earlier, last = catalogue.table().snapshots()
    assert last.parent_snapshot_id == earlier.snapshot_id
    assert last.summary.operation.value == "overwrite"
    kept = {path for path in before if "day=2024-01-02" not in str(path)}
    assert before & catalogue.files() == kept
    old = catalogue.table().scan(snapshot_id=earlier.snapshot_id).to_arrow()
    assert sorted(old["id"].to_pylist()) == [1, 2, 3, 4, 5]


def test_increments_and_swaps_go_on_after_it(three_days: History, catalogue: Catalogue) -> None:
    made_again(three_days, [row(20, SECOND)], partitions=days("2024-01-02"))
    three_days.publish("again")
    three_days.increment([row(6, SECOND)])
    assert three_days.publish().outcome is Outcome.DONE
    made_again(three_days, [], run_id="empty", partitions=days("2024-01-01", "2024-01-03"))
    assert three_days.publish("empty").outcome is Outcome.DONE
    assert by_day(catalogue) == {SECOND: [6, 20]}


def test_a_swap_offered_twice_is_there_once(three_days: History, catalogue: Catalogue) -> None:
    made_again(three_days, [row(20, SECOND)], partitions=days("2024-01-02"))
    three_days.publish("again")
    (three_days.layout.journal / "000003.iceberg.tidemill.sales.orders.json").unlink()
    assert three_days.publish("again").outcome is Outcome.DONE
    assert by_day(catalogue)[SECOND] == [20]
    assert len(catalogue.table().snapshots()) == 3


def test_without_partitions_it_only_adds(three_days: History, catalogue: Catalogue) -> None:
    made_again(three_days, [row(20, SECOND)], kind="reinstate")
    three_days.publish("again")
    assert by_day(catalogue)[SECOND] == [2, 5, 20]


def test_a_redo_takes_the_place_of_the_tail(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    held = history.increment(rows(2), outcome="held")
    later = history.increment(rows(3))
    tail_redone(history, held, later)
    assert history.publish("again").outcome is Outcome.DONE
    history.increment(rows(4))
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1, 4, 20, 30]


def test_a_null_partition_is_swapped_like_any_other(
    history: History, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment([row(1), row(2, SECOND)])
    apply = IcebergTarget.apply

    def with_null(target: IcebergTarget, event: Event, payload: Payload) -> int:
        nowhere, *others = payload.files
        files = (replace(nowhere, partition={"day": None}), *others)
        return apply(target, event, replace(payload, files=files))

    with monkeypatch.context() as patch:
        patch.setattr(IcebergTarget, "apply", with_null)
        history.publish()
    assert by_day(catalogue) == {None: [1], SECOND: [2]}
    made_again(history, [row(30, THIRD)], partitions=days(NULL_PARTITION))
    assert history.publish("again").outcome is Outcome.DONE
    assert by_day(catalogue) == {SECOND: [2], THIRD: [30]}


def test_a_rebuild_replaces_rows_and_columns_at_once(
    three_days: History, catalogue: Catalogue
) -> None:
    (dropped, *kept) = [field for field in COLUMNS if field.name != "id"]
    number = pa.field("id", COLUMNS.field("id").type)
    three_days.columns = pa.schema([number, *kept, pa.field("new", pa.string())])
    rebuilt(three_days, [{"id": 10, "new": "a", "day": FIRST}], [{"id": 20, "day": SECOND}])
    assert three_days.publish("rebuild").outcome is Outcome.DONE
    assert catalogue.rows("id", "new") == {(10, "a"): 1, (20, None): 1}
    table = catalogue.table()
    assert dropped.name not in table.schema().column_names
    assert len(table.snapshots()) == 3
    # Readers of an older snapshot see its rows with its columns.
    old = table.scan(snapshot_id=table.snapshots()[1].snapshot_id).to_arrow()
    assert (sorted(old["id"].to_pylist()), dropped.name in old.schema.names) == (
        [1, 2, 3, 4, 5],
        True,
    )


def test_a_rebuild_may_change_partitions_and_types(
    three_days: History, catalogue: Catalogue
) -> None:
    fields = [pa.field("text", pa.int64()) if f.name == "text" else f for f in COLUMNS]
    three_days.columns = pa.schema(fields)
    three_days.partitions = {"day": pa.date32(), "hour": pa.int32()}
    rebuilt(
        three_days,
        [{"id": 10, "text": 7, "day": FIRST, "hour": 3}],
        partition_by={"day": "expr(day)", "hour": "expr(hour)"},
    )
    report = three_days.publish("rebuild")
    assert report.outcome is Outcome.DONE, report.error
    assert catalogue.rows("id", "text", "day", "hour") == {(10, 7, FIRST, 3): 1}


def test_merged_manifests_lose_and_repeat_no_file(history: History, catalogue: Catalogue) -> None:
    history.increment([row(1), row(2, SECOND)])
    history.publish()
    with catalogue.table().transaction() as change:
        change.set_properties({"commit.manifest.min-count-to-merge": "2"})
    for number in (3, 4):
        history.increment([row(number)])
        history.publish()
    made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    history.increment([row(5, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    assert by_day(catalogue) == {FIRST: [1, 3, 4], SECOND: [5, 20]}
    current = catalogue.table().current_snapshot()
    assert current is not None
    assert len(current.manifests(catalogue.table().io)) < len(catalogue.table().snapshots())
