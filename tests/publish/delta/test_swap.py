"""A swap puts rows in the place of whole partitions, in one version, and touches nothing else."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.support.histories.generation_builder import (
    days,
    made_again,
    reject_increment,
    tail_redone,
)
from tests.support.histories.history_builder import History, reject, row, rows
from tidemill.contract.report import Outcome
from tidemill.publish.delta import target as delta_target
from tidemill.publish.delta.target import DeltaTarget
from tidemill.publish.outgoing_event import Outgoing
from tidemill.publish.target import HeadUnexplained, NotOurTurn

FIRST, SECOND, THIRD = (date(2024, 1, number) for number in (1, 2, 3))


@pytest.fixture
def three_days(history: History) -> History:
    """Two increments with rows of three days, published."""
    history.increment([row(1), row(2, SECOND), row(3, THIRD)])
    history.increment([row(4), row(5, SECOND)])
    assert history.publish().outcome is Outcome.DONE
    return history


def by_day(history: History) -> dict[date, list[int]]:
    found: dict[date, list[int]] = {}
    for one in sorted(history.published(), key=lambda one: one["id"]):
        found.setdefault(one["day"], []).append(one["id"])
    return found


def live(history: History) -> dict[str, int]:
    """The table's files with their sizes."""
    table = history.layout.table
    return {uri: Path(uri).stat().st_size for uri in DeltaTable(table).file_uris()}


def test_rows_of_its_partitions_are_replaced_in_one_version(three_days: History) -> None:
    before = live(three_days)
    versions = len(three_days.log())
    made_again(three_days, [row(20, SECOND), row(21, SECOND)], partitions=days("2024-01-02"))
    report = three_days.publish("again")
    assert report.outcome is Outcome.DONE
    assert by_day(three_days) == {FIRST: [1, 4], SECOND: [20, 21], THIRD: [3]}
    assert len(three_days.log()) == versions + 1
    after = live(three_days)
    others = {uri: size for uri, size in before.items() if "day=2024-01-02" not in uri}
    assert {uri: size for uri, size in after.items() if uri in before} == others
    before_it = DeltaTable(three_days.layout.table, version=versions - 1)
    assert sorted(before_it.file_uris()) == sorted(before)


def test_its_commit_says_who_wanted_it_and_why(three_days: History) -> None:
    made_again(
        three_days, [row(20, SECOND)], partitions=days("2024-01-02"), replaces_rejects_of=("a", "b")
    )
    three_days.publish("again")
    entry = three_days.delta().history(1)[0]
    recomputation = json.loads(entry["tidemill.recomputation"])
    assert (entry["tidemill.kind"], entry["tidemill.journal"]) == ("swap", "3")
    assert (recomputation["kind"], recomputation["by"], recomputation["reason"]) == (
        "backfill",
        "ann",
        "the rule was wrong",
    )
    assert recomputation["partitions"] == {"columns": ["day"], "values": [["2024-01-02"]]}


def test_increments_go_on_after_it(three_days: History) -> None:
    made_again(three_days, [row(20, SECOND)], partitions=days("2024-01-02"))
    three_days.publish("again")
    three_days.increment([row(6, SECOND)])
    assert three_days.publish().outcome is Outcome.DONE
    assert by_day(three_days) == {FIRST: [1, 4], SECOND: [6, 20], THIRD: [3]}


def test_applied_twice_it_is_there_once(three_days: History) -> None:
    made_again(three_days, [row(20, SECOND)], [reject("a")], partitions=days("2024-01-02"))
    three_days.publish("again")
    seen = (three_days.log(), three_days.log(three_days.layout.rejected))
    event = three_days.journal.events()[-1]
    target = DeltaTarget(three_days.layout, epoch=99)
    outgoing = Outgoing(three_days.pipeline, event, 99)
    assert target.find(event) == 2
    assert target.apply(event, outgoing.payload) == 2
    outgoing.keep_rejected()
    # Killed between the commit and the journal.
    (three_days.layout.journal / "000003.delta.json").unlink()
    assert three_days.publish("again").outcome is Outcome.DONE
    assert (three_days.log(), three_days.log(three_days.layout.rejected)) == seen
    assert by_day(three_days)[SECOND] == [20]


def test_without_partitions_it_only_adds(three_days: History) -> None:
    made_again(three_days, [row(20, SECOND)], kind="reinstate")
    three_days.publish("again")
    assert by_day(three_days)[SECOND] == [2, 5, 20]


def test_a_reject_moves_the_heads_and_leaves_no_row(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    number = history.increment(rows(2), [reject("b")], outcome="held")
    history.increment(rows(3), [reject("c")])
    reject_increment(history, number)
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 3], ["a", "c"])
    entry = history.delta().history()[1]
    rejection = json.loads(entry["tidemill.rejection"])
    assert (rejection["by"], rejection["reason"]) == ("ann", "a test file")
    kinds = [event.kind for event in history.journal.events()]
    assert kinds == ["increment", "reject", "increment"]


def test_a_redo_takes_the_place_of_the_tail(history: History) -> None:
    history.increment(rows(1))
    held = history.increment(rows(2), [reject("b")], outcome="held")
    later = history.increment(rows(3))
    tail_redone(history, held, later)
    assert history.publish("again").outcome is Outcome.DONE
    history.increment(rows(4))
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), history.records()) == ([1, 4, 20, 30], ["c"])
    assert history.delta().transaction_version("orders/live-0001") == 3


REJECTED = [reject("a", day="2024-01-01"), reject("b", day="2024-01-02"), reject("c")]


@pytest.mark.parametrize(
    ("replaces_rejects_of", "expected"),
    [
        (("file:///in/x.csv",), ["a", "f", "g", "h"]),
        (("file:///in/y.csv",), ["a", "c", "e", "f", "g", "h"]),
        (None, ["a", "c", "e", "f", "g", "h"]),
    ],
)
def test_rejected_rows_of_its_partitions_and_inputs_go_with_the_good_ones(
    history: History, replaces_rejects_of: tuple[str, ...] | None, expected: list[str]
) -> None:
    history.increment([row(1), row(2, SECOND)], REJECTED)
    history.increment(rows(3), [reject("d", day="2024-01-02"), reject("e")])
    history.publish()
    made_again(
        history,
        [row(20, SECOND)],
        [reject("f", day="2024-01-02")],
        partitions=days("2024-01-02"),
        replaces_rejects_of=replaces_rejects_of,
    )
    # It was not computed with these.
    history.increment(rows(4), [reject("g", day="2024-01-02"), reject("h")])
    assert history.publish().outcome is Outcome.DONE
    assert history.records() == expected
    found = {one["record"]: (one["increment"], one["last_batch"]) for one in history.rejected()}
    assert (found["a"], found["f"], found["g"]) == ((1, 0), (3, 1), (4, 2))


def test_whoever_compacts_the_table_meanwhile_brings_no_row_back(
    three_days: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_again(three_days, [row(20, SECOND)], partitions=days("2024-01-02"))
    looks, live_files = [], delta_target.live_files

    def compacted_after_the_look(*args: Any) -> Any:
        found = live_files(*args)
        looks.append(found)
        if len(looks) == 1:
            assert three_days.delta().optimize.compact()["numFilesRemoved"] == 4
        return found

    monkeypatch.setattr(delta_target, "live_files", compacted_after_the_look)
    assert three_days.publish("again").outcome is Outcome.DONE
    assert [len(files) for files in looks] == [5, 3]
    assert by_day(three_days) == {FIRST: [1, 4], SECOND: [20], THIRD: [3]}
    assert len(three_days.log()) == 4


def test_a_swap_waits_for_the_batches_that_it_stands_for(three_days: History) -> None:
    made_again(three_days, [row(20, SECOND)], partitions=days("2024-01-02"), last=1)
    three_days.publish("again")
    event = three_days.journal.events()[-1].model_copy(update={"seq": 4, "last": 2})
    payload = three_days.payload(event.model_copy(update={"files": event.stored_in}))
    with pytest.raises(NotOurTurn) as refused:
        DeltaTarget(three_days.layout, epoch=99).apply(event, payload)
    assert refused.value.head == 1
    old = event.model_copy(update={"seq": 3, "files_hash": "other"})
    with pytest.raises(HeadUnexplained):
        DeltaTarget(three_days.layout, epoch=99).find(old)


def test_stopped_between_its_two_tables_it_replaces_rejected_rows_once(
    three_days: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_days.increment([row(6, THIRD)], [reject("old", day="2024-01-02")])
    three_days.publish()
    made_again(
        three_days,
        [row(20, SECOND)],
        [reject("new", day="2024-01-02")],
        partitions=days("2024-01-02"),
    )
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTarget, "_change", None)
        with pytest.raises(TypeError):
            three_days.publish("again")
    assert (three_days.records(), by_day(three_days)[SECOND]) == (["new", "old"], [2, 5])
    rejected = three_days.log(three_days.layout.rejected)
    assert three_days.publish("again").outcome is Outcome.DONE
    assert (three_days.records(), by_day(three_days)[SECOND]) == (["new"], [20])
    # What was added is not added again; what it replaces went after the good rows came.
    assert len(three_days.log(three_days.layout.rejected)) == len(rejected) + 1
