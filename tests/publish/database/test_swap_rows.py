"""A swap in a database: the rows of its partitions up to its batch, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date

import pyarrow as pa
import pytest

from tests.support.histories.generation_builder import days, made_again, reject_increment
from tests.support.histories.history_builder import History, row, rows
from tests.support.remedies import carry_out
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome
from tidemill.journal.partition_set import Partitions
from tidemill.publish import registry
from tidemill.publish.database.session import KeyRepeated
from tidemill.publish.database.target import RowsAhead
from tidemill.publish.target import HeadUnexplained, NotOurTurn, Target
from tidemill.spark_logs.partition_paths import NULL_PARTITION

Make = Callable[..., History]
SECOND, THIRD = date(2024, 1, 2), date(2024, 1, 3)


@pytest.fixture
def history(make_history: Make, warehouse: Warehouse) -> History:
    """Rows of two days in two batches, published to Delta and to a table."""
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    history.increment([row(1), row(2, SECOND)])
    history.increment([row(3), row(4, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


def table_of(history: History, epoch: int = 99) -> Target:
    return registry.targets_of(history.pipeline, epoch, lambda _: None)[-1]


def rows_of(warehouse: Warehouse) -> dict[int, tuple[date, int]]:
    """Id -> day and batch."""
    found = warehouse.rows("id", "day", "_tidemill_batch")
    assert set(found.values()) <= {1}
    return {number: (day, batch) for number, day, batch in found}


def test_batches_after_it_stay_and_it_is_there_once(history: History, warehouse: Warehouse) -> None:
    made_again(history, [row(20, SECOND), row(21, SECOND)], partitions=days("2024-01-02"))
    # Went out first, and did not touch the day.
    history.increment([row(5), row(6, THIRD)])
    assert history.publish().outcome is Outcome.DONE
    assert history.publish("again").outcome is Outcome.DONE
    first = date(2024, 1, 1)
    expected = {
        1: (first, 0),
        3: (first, 1),
        5: (first, 2),
        6: (THIRD, 2),
        20: (SECOND, 1),
        21: (SECOND, 1),
    }
    assert rows_of(warehouse) == expected
    assert (warehouse.head() or ())[:2] == (2, 4)
    event = history.journal.events()[-1]
    assert table_of(history).find(event) == 4
    assert table_of(history).apply(event, history.payload(event)) == 4
    history.increment([row(7, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    assert rows_of(warehouse) == {**expected, 7: (SECOND, 3)}


@pytest.mark.remedy("RowsAhead")
def test_rows_that_it_was_not_computed_with_are_never_taken_away(
    history: History, warehouse: Warehouse
) -> None:
    made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    event = history.journal.events()[-1]
    history.increment([row(5, SECOND)])
    history.publish()
    before = rows_of(warehouse)
    late = event.model_copy(update={"seq": 5, "files_hash": "other"})
    with pytest.raises(RowsAhead) as refused:
        table_of(history).apply(late, history.payload(event))
    assert refused.value.rows == 1
    assert rows_of(warehouse) == before
    assert (warehouse.head() or ())[:2] == (2, 4)
    warehouse.execute("DROP TABLE orders")
    warehouse.execute("DROP TABLE tidemill_heads")
    carry_out(history, refused.value.remedy, "target repair")
    assert history.publish().outcome is Outcome.DONE
    assert rows_of(warehouse) == before


def test_an_old_event_is_not_taken_for_the_swap_after_it(
    history: History, warehouse: Warehouse
) -> None:
    made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    *_, increment, swap = history.journal.events()
    table = table_of(history)
    assert (table.find(increment), table.find(swap)) == (None, 3)
    for event, changes in ((increment, {}), (swap, {"seq": 2}), (swap, {"files_hash": "other"})):
        with pytest.raises(HeadUnexplained):
            table.apply(event.model_copy(update=changes), history.payload(event))
    with pytest.raises(NotOurTurn):
        table.apply(swap.model_copy(update={"seq": 4, "last": 2}), history.payload(swap))


def test_a_reject_moves_the_head_alone_and_a_redo_goes_on_from_there(
    history: History, warehouse: Warehouse
) -> None:
    held = history.increment([row(5)], outcome="held")
    reject_increment(history, held)
    wrong = history.increment([row(6)], outcome="held")
    history.publish()
    assert (warehouse.ids(), (warehouse.head() or ())[:2]) == ([1, 2, 3, 4], (2, 3))
    made_again(history, [row(60)], kind="redo", first=3, last=3, supersedes=(wrong,))
    assert history.publish("again").outcome is Outcome.DONE
    assert rows_of(warehouse)[60] == (date(2024, 1, 1), 3)
    assert warehouse.batches()[60] == ("live-0001", 3)
    made_again(history, [row(5)], run_id="back", kind="reinstate", first=2, last=2)
    assert history.publish("back").outcome is Outcome.DONE
    assert rows_of(warehouse)[5] == (date(2024, 1, 1), 2)


def test_of_rows_with_keys_the_later_batch_counts(make_history: Make, warehouse: Warehouse) -> None:
    history = make_history(
        output=", keys: [id]",
        more=f"publish: [{{kind: delta}}, {warehouse.target(mode='upsert')}]",
    )
    history.increment([row(1), row(2, SECOND)])
    held = history.increment([row(2, SECOND, text="back"), row(3, text="back")], outcome="held")
    reject_increment(history, held)
    history.increment([row(3, text="later")])
    history.publish()
    made_again(
        history,
        [row(2, SECOND, text="back"), row(3, text="back")],
        kind="reinstate",
        first=1,
        last=1,
    )
    assert history.publish("again").outcome is Outcome.DONE
    texts = {(1, "row 1"), (2, "back"), (3, "later")}
    assert warehouse.rows("id", "text") == Counter(texts)
    made_again(history, [row(2, SECOND, text="new")], run_id="swap", partitions=days("2024-01-02"))
    assert history.publish("swap").outcome is Outcome.DONE
    texts = {(1, "row 1"), (2, "new"), (3, "later")}
    assert warehouse.rows("id", "text") == Counter(texts)
    # It is unknown whether this row of another day was the later one.
    made_again(history, [row(1, SECOND)], run_id="moved", partitions=days("2024-01-02"))
    report = history.publish("moved")
    assert report.error is not None
    assert report.error["code"] == KeyRepeated.__name__
    assert warehouse.rows("id", "text") == Counter(texts)


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [(pa.string(), "a b", "A b"), (pa.int32(), -7, 7), (pa.bool_(), True, False)],
    ids=str,
)
def test_values_of_partitions_are_of_the_columns_type(
    make_history: Make, warehouse: Warehouse, kind: pa.DataType, value: object, other: object
) -> None:
    history = make_history(
        partitions={"day": pa.date32(), "k": kind},
        more=f"publish: [{{kind: delta}}, {warehouse.target()}]",
    )
    history.increment([row(1, k=value), row(2, SECOND, k=value), row(3, k=other)])
    history.publish()
    text = str(value).lower()
    partitions = Partitions(columns=("day", "k"), values=(("2024-01-01", text),))
    made_again(history, [row(10, k=value)], partitions=partitions)
    assert history.publish("again").outcome is Outcome.DONE
    assert warehouse.ids() == history.ids() == [2, 3, 10]


def test_the_null_partition_is_one_of_them(make_history: Make, warehouse: Warehouse) -> None:
    history = make_history(
        partitions={"day": pa.date32(), "k": pa.string()},
        more=f"publish: [{{kind: delta}}, {warehouse.target()}]",
    )
    history.increment([row(1, k=None), row(2, k="a")])
    history.publish()
    partitions = Partitions(columns=("day", "k"), values=(("2024-01-01", NULL_PARTITION),))
    made_again(history, [row(10, k=None)], partitions=partitions)
    assert history.publish("again").outcome is Outcome.DONE
    assert warehouse.ids() == history.ids() == [2, 10]


def test_the_whole_table_is_one_partition(make_history: Make, warehouse: Warehouse) -> None:
    history = make_history(partitions={}, more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    held = history.increment(rows(9), outcome="held")
    reject_increment(history, held)
    assert history.publish().outcome is Outcome.DONE
    assert (warehouse.ids(), (warehouse.head() or ())[:2]) == ([], (0, 1))
    history.increment(rows(1, 2))
    history.publish()
    made_again(history, rows(3), partitions=Partitions())
    assert history.publish("again").outcome is Outcome.DONE
    assert warehouse.ids() == history.ids() == [3]


@pytest.mark.parametrize("warehouse", ["mariadb", "mysql"], indirect=True)
def test_values_differ_by_case_whatever_the_columns_collation(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(
        partitions={"k": pa.string()}, more=f"publish: [{{kind: delta}}, {warehouse.target()}]"
    )
    history.increment([row(1, k="a"), row(2, k="A")])
    history.publish()
    warehouse.execute("ALTER TABLE orders MODIFY k longtext COLLATE utf8mb4_general_ci")
    partitions = Partitions(columns=("k",), values=(("a",),))
    made_again(history, [row(10, k="a")], partitions=partitions)
    assert history.publish("again").outcome is Outcome.DONE
    assert warehouse.ids() == history.ids() == [2, 10]
