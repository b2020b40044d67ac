"""Compare and commit: other writers, older epochs and stale snapshots change nothing of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Transaction, write_deltalake

from tests.support.histories.history_builder import BY_DAY, COLUMNS, History, reject, row, rows
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.publish import registry
from tidemill.publish.delta import commit
from tidemill.publish.delta.commit import CommitContended
from tidemill.publish.delta.target import DeltaTarget
from tidemill.storage.lease import newest_epoch

APP = "orders/live-0001"


@pytest.fixture
def second(history: History) -> History:
    """One increment published, a second one passed."""
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), [reject("bad")])
    return history


@pytest.fixture
def interfere(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Lets somebody write to the table between our look at it and our commit.

    The answer is a list that grows by one with each attempt of ours.
    """

    def install(write: Callable[[Path], object], times: int = 1) -> list[int]:
        attempts: list[int] = []

        class Interfered(DeltaTarget):
            def _commit(self, *arguments: Any) -> None:
                attempts.append(len(attempts))
                if len(attempts) <= times:
                    write(self.layout.table)
                super()._commit(*arguments)

        monkeypatch.setattr(registry, "DeltaTarget", Interfered)
        monkeypatch.setattr(commit, "WAIT_SECONDS", 0.001)
        return attempts

    return install


def empty_commit(path: Path, *transactions: Transaction) -> None:
    table = DeltaTable(path)
    properties = CommitProperties(app_transactions=list(transactions))
    table.create_write_transaction(
        [], "append", table.schema(), ["day"], commit_properties=properties
    )


def test_every_commit_carries_batch_and_epoch(second: History) -> None:
    second.publish()
    epoch = newest_epoch(second.layout.lease)
    for path in (second.layout.table, second.layout.rejected):
        table = DeltaTable(path)
        assert table.transaction_version(APP) == 1
        assert table.transaction_version("tidemill.lease") == epoch


def test_an_older_epoch_is_fenced_out(second: History) -> None:
    second.publish()
    second.increment(rows(3))
    history_length = len(second.log())
    (event,) = [
        second.journal.events()[-1].model_copy(
            update={"seq": 3, "increment": 3, "first": 2, "last": 2, "rows": 1, "rejected": 0}
        )
    ]
    event = event.model_copy(update={"files_hash": second.snapshot.get(3).sealed.files_hash})
    with pytest.raises(LeaseLost) as lost:
        DeltaTarget(second.layout, epoch=1).apply(event, second.payload(event))
    assert lost.value.epoch == 1
    assert lost.value.newer == second.delta().transaction_version("tidemill.lease")
    assert len(second.log()) == history_length


def test_an_epoch_that_was_overtaken_between_look_and_commit_is_fenced_out(
    second: History, interfere: Callable[..., list[int]]
) -> None:
    interfere(lambda path: empty_commit(path, Transaction("tidemill.lease", 999)))
    report = second.publish()
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert report.error is not None
    assert (report.error["code"], report.error["data"]["newer"]) == ("LeaseLost", 999)
    assert second.ids() == [1]


def test_rows_that_somebody_else_appends_meanwhile_stay_and_ours_come_once(
    second: History, interfere: Callable[..., list[int]]
) -> None:
    schema = COLUMNS.append(pa.field("day", BY_DAY["day"]))
    interfere(
        lambda path: write_deltalake(path, pa.Table.from_pylist([row(99)], schema), mode="append")
    )
    assert second.publish().outcome is Outcome.DONE
    assert (second.ids(), second.records()) == ([1, 2, 99], ["bad"])


@pytest.mark.parametrize(
    "write",
    [
        lambda path: DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "false"}),
        lambda path: DeltaTable(path).alter.set_table_description("of somebody else"),
        lambda path: DeltaTable(path).delete(),
    ],
    ids=["properties", "description", "delete"],
)
def test_a_stale_snapshot_is_loaded_anew(
    second: History, interfere: Callable[..., list[int]], write: Callable[[Path], object]
) -> None:
    attempts = interfere(write)
    report = second.publish()
    assert report.outcome is Outcome.DONE
    assert len(attempts) == 2
    assert 2 in second.ids()
    assert second.records() == ["bad"]
    assert second.delta().transaction_version(APP) == 1


def test_a_column_that_somebody_else_added_meanwhile_is_looked_at(
    second: History, interfere: Callable[..., list[int]]
) -> None:
    interfere(lambda path: DeltaTable(path).alter.add_columns([Field("foreign", "string")]))
    report = second.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["data"]["column"] == "foreign"
    assert second.ids() == [1]


def test_a_table_that_somebody_else_created_meanwhile_is_looked_at(
    history: History, interfere: Callable[..., list[int]]
) -> None:
    schema = COLUMNS.append(pa.field("day", BY_DAY["day"]))
    attempts = interfere(lambda path: DeltaTable.create(path, schema=schema, partition_by=["day"]))
    history.increment(rows(1))
    assert history.publish().outcome is Outcome.DONE
    assert (history.ids(), len(attempts)) == ([1], 2)


def test_somebody_who_commits_under_our_name_is_found_out(
    second: History, interfere: Callable[..., list[int]]
) -> None:
    interfere(lambda path: empty_commit(path, Transaction(APP, 1)))
    report = second.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "HeadUnexplained"
    assert second.ids() == [1]


def test_whoever_always_loses_may_try_again_later(
    second: History, interfere: Callable[..., list[int]]
) -> None:
    busy = iter(range(100))
    attempts = interfere(
        lambda path: DeltaTable(path).alter.set_table_description(f"busy {next(busy)}"), times=100
    )
    report = second.publish()
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert report.error is not None
    assert report.error["code"] == CommitContended.__name__
    assert len(attempts) == commit.ATTEMPTS
    assert second.ids() == [1]
