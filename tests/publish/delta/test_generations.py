"""Generations that take over: a rebuilt one in one version, a forked one at the next batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.support.histories.generation_builder import days, forked, made_again, next_of, rebuilt
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.net_history_builder import NetHistory, count, hour
from tests.support.warehouse import Warehouse
from tidemill.contract.report import Outcome
from tidemill.publish.delta import target as delta_target
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.outgoing_event import Outgoing
from tidemill.publish.target import NotOurTurn

Make = Callable[..., History]
SECOND = date(2024, 1, 2)
OTHER_COLUMNS = pa.schema([("id", pa.string()), ("total", pa.float64())])


def test_all_rows_are_replaced_in_one_version(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.increment(rows(3), [reject("b")])
    history.publish()
    event = rebuilt(history, [row(10), row(20, SECOND)], [row(30)], rejected=[reject("c")])
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([10, 20, 30], ["c"])
    assert len(history.log()) == 3
    assert sorted(r["id"] for r in history.delta(1).to_pyarrow_table().to_pylist()) == [1, 2, 3]
    (history.layout.journal / "000003.delta.json").unlink()
    assert history.publish().outcome is Outcome.DONE
    assert len(history.log()) == 3
    next_of(history, 2, row(40))
    made_again(
        history, [row(21, SECOND)], partitions=days("2024-01-02"), generation="live-0002", last=1
    )
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [10, 21, 30, 40]
    # What stood before it in the journal is never taken for new.
    first = history.journal.events()[0]
    assert DeltaTarget(history.layout, epoch=99).find(first) == 0
    assert event.generation == "live-0002"


@pytest.mark.parametrize("partitions", [{"day": pa.date32()}, {"id": pa.string()}, {}], ids=str)
def test_it_may_have_other_columns_and_partitions(
    history: History, partitions: dict[str, pa.DataType]
) -> None:
    history.increment([row(1), row(2, SECOND)])
    history.publish()
    history.delta().alter.set_table_properties({"delta.appendOnly": "false"})
    identity = history.delta().metadata().id
    columns = [f for f in OTHER_COLUMNS if f.name not in partitions]
    history.columns, history.partitions = pa.schema(columns), partitions
    made = {"id": "a/b", "total": 0.5, "day": SECOND}
    rebuilt(history, [made], partition_by=dict.fromkeys(partitions, "expr"))
    before = len(history.log())
    assert history.publish().outcome is Outcome.DONE
    assert len(history.log()) == before + 1
    (found,) = history.published()
    assert found == {name: made[name] for name in (*[f.name for f in columns], *partitions)}
    metadata = history.delta().metadata()
    assert metadata.partition_columns == list(partitions)
    assert (metadata.name, metadata.configuration) == ("orders", {"delta.appendOnly": "false"})
    assert metadata.id == identity
    next_of(history, 1, {**made, "id": "next"})
    assert history.publish().outcome is Outcome.DONE
    assert {one["id"] for one in history.published()} == {"a/b", "next"}


@pytest.mark.parametrize("partitions", [{"day": pa.date32()}, {}], ids=str)
def test_whoever_writes_meanwhile_is_seen(
    history: History, monkeypatch: pytest.MonkeyPatch, partitions: dict[str, pa.DataType]
) -> None:
    for number in (1, 2, 3):
        history.increment([row(number)])
    history.publish()
    replace_all, tries = delta_target.replace_all, []

    def compacted_before(*args: Any) -> None:
        tries.append(args)
        if len(tries) == 1:
            assert history.delta().optimize.compact()["numFilesRemoved"] == 3
        replace_all(*args)

    monkeypatch.setattr(delta_target, "replace_all", compacted_before)
    history.partitions = partitions
    rebuilt(history, [row(10)], partition_by=dict.fromkeys(partitions, "expr"))
    assert history.publish().outcome is Outcome.DONE
    assert (len(tries), history.ids()) == (2, [10])


def test_a_fork_goes_on_where_it_was_forked(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2))
    history.increment(rows(3), outcome="held")
    history.publish()
    forked(history, 2)
    ahead = next_of(history, 3, row(40))
    outgoing = Outgoing(history.pipeline, ahead, 99)
    with pytest.raises(NotOurTurn) as refused:
        DeltaTarget(history.layout, epoch=99).apply(ahead, outgoing.payload)
    assert (refused.value.head, refused.value.first) == (1, 3)
    (history.layout.journal / f"{ahead.seq:06d}.json").unlink()
    next_of(history, 2, row(30))
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1, 2, 30, 40]
    made_again(history, [row(20)], partitions=days("2024-01-01"), generation="live-0002", last=3)
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [20]
    assert history.delta().transaction_version("orders/live-0001") == 1


def test_a_table_of_mode_update_without_partitions_is_swapped_whole(tmp_path: Path) -> None:
    history = NetHistory(tmp_path / "pipeline")
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    history.increment([count("open", 1, 2)])
    history.publish()
    made_again(history, [count("open", 1, 7)], partitions={})
    assert history.publish().outcome is Outcome.DONE
    assert history.table() == [("open", hour(1), 7)]
    history.increment([count("open", 1, 8), count("close", 2, 1)])
    assert history.publish().outcome is Outcome.DONE
    assert history.table() == [("close", hour(2), 1), ("open", hour(1), 8)]


def test_a_table_of_mode_update_is_swapped_by_partitions(tmp_path: Path) -> None:
    history = NetHistory(
        tmp_path / "pipeline",
        keys=("action", "hour", "place"),
        partitions={"place": pa.string()},
    )
    history.increment([count("open", 1, 1, place=place) for place in ("a b", "c/d")])
    history.publish()
    before = DeltaTable(history.layout.table).file_uris()
    partitions = {"columns": ("place",), "values": (("c/d",),)}
    made_again(history, [count("close", 1, 7, place="c/d")], partitions=partitions)
    assert history.publish().outcome is Outcome.DONE
    assert history.table() == [("close", hour(1), 7, "c/d"), ("open", hour(1), 1, "a b")]
    assert len({*before} & {*DeltaTable(history.layout.table).file_uris()}) == 1
    history.increment([count("close", 1, 8, place="c/d")])
    assert history.publish().outcome is Outcome.DONE
    assert history.table() == [("close", hour(1), 8, "c/d"), ("open", hour(1), 1, "a b")]


@pytest.mark.parametrize(("mode", "total"), [("update", 2), ("complete", 1)])
def test_a_table_of_merged_rows_is_replaced(tmp_path: Path, mode: str, total: int) -> None:
    history = NetHistory(
        tmp_path / "pipeline",
        mode=mode,
        keys=("action", "hour", "place"),
        partitions={"place": pa.string()},
    )
    history.increment([count("open", 1, 1, place="a b"), count("close", 1, 1, place="c/d")])
    history.publish()
    first = [count("open", 1, 5, place="c/d"), count("open", 2, 5, place="a b")]
    rebuilt(history, first, [count("open", 1, 6, place="c/d")])
    assert history.publish().outcome is Outcome.DONE
    both = [("open", hour(1), 6, "c/d"), ("open", hour(2), 5, "a b")]
    assert history.table() == both[:total]
    assert len(history.log()) == 2


def test_a_database_gets_both(make_history: Make, warehouse: Warehouse) -> None:
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    history.increment(rows(1, 2))
    history.publish()
    rebuilt(history, rows(10), rows(20))
    next_of(history, 2, row(30))
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.batches() == {
        10: ("live-0002", 0),
        20: ("live-0002", 1),
        30: ("live-0002", 2),
    }


def test_of_a_rebuilt_table_with_keys_the_later_batch_counts(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(
        output=", keys: [id]",
        more=f"publish: [{{kind: delta}}, {warehouse.target(mode='upsert')}]",
    )
    history.increment(rows(1, 2))
    history.publish()
    rebuilt(history, rows(1), [row(1, text="later"), row(3)])
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.rows("id", "text") == Counter([(1, "later"), (3, "row 3")])


def test_a_database_goes_on_with_a_fork(make_history: Make, warehouse: Warehouse) -> None:
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    history.increment([row(1)])
    history.increment([row(2, SECOND)])
    history.publish()
    forked(history, 2)
    next_of(history, 2, row(3))
    made_again(history, [row(20)], partitions=days("2024-01-01"), generation="live-0002", last=2)
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.batches() == {2: ("live-0001", 1), 20: ("live-0002", 2)}
