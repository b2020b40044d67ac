"""Publishing again, from wherever and however often, changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction

from tests.support.histories.history_builder import History, reject, rows, tree
from tidemill.contract.project import REPOSITORY
from tidemill.contract.report import Outcome
from tidemill.journal.journal import Applied


def publish_from_a_fresh_process(history: History, run_id: str) -> int:
    step = [sys.executable, "-m", "tidemill.main", "publish", "orders", "--run-id", run_id]
    environ = {**os.environ, **history.environ}
    return subprocess.run(step, env=environ, cwd=REPOSITORY, check=False).returncode


def test_from_a_fresh_process_it_changes_nothing(history: History) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    assert publish_from_a_fresh_process(history, "run-1") == 0
    assert (history.ids(), history.records()) == ([1, 2], ["bad"])
    table, rejected = tree(history.layout.table), tree(history.layout.rejected)
    assert publish_from_a_fresh_process(history, "run-1") == 0
    assert (tree(history.layout.table), tree(history.layout.rejected)) == (table, rejected)


def test_the_naive_way_doubles_rows(history: History) -> None:
    # Why publish compares before it commits: of a table that was loaded again, Delta accepts the
    # same application transaction again. If this fails, delta-rs has changed, and we may simplify.
    history.increment(rows(1))
    history.publish()
    (written,) = history.files(0)
    # As a second writer of the same rows would name it.
    again = Path(shutil.copy(written, written.with_name("part-again.parquet")))
    add = AddAction(
        path=str(again.relative_to(history.layout.table)),
        size=again.stat().st_size,
        partition_values={"day": "2024-01-01"},
        modification_time=0,
        data_change=True,
        stats='{"numRecords":1}',
    )
    table = DeltaTable(history.layout.table)
    assert table.transaction_version("orders/live-0001") == 0
    properties = CommitProperties(app_transactions=[Transaction("orders/live-0001", 0)])
    table.create_write_transaction(
        [add], "append", table.schema(), ["day"], commit_properties=properties
    )
    assert history.ids() == [1, 1]


def test_a_cleared_run_says_in_which_version_it_is(history: History) -> None:
    for number in (1, 2, 3):
        history.increment(rows(number))
    history.publish("run-3")
    again = history.publish("run-2")
    assert (again.outcome, again.facts["version"], again.facts["published"]) == (
        Outcome.DONE,
        1,
        [],
    )
    assert len(history.log()) == 3


def test_killed_after_the_commit_and_before_the_journal_it_changes_nothing(
    history: History,
) -> None:
    history.increment(rows(1), [reject("bad")])
    history.increment(rows(2))
    history.publish()
    (history.layout.journal / "000001.delta.json").unlink()
    (history.layout.journal / "000002.delta.json").unlink()
    before = (history.log(), history.log(history.layout.rejected))
    report = history.publish("run-2")
    assert report.outcome is Outcome.DONE
    assert [done["version"] for done in report.facts["published"]] == [0, 1]
    assert (history.log(), history.log(history.layout.rejected)) == before
    assert history.ids() == [1, 2]
    applied = history.journal.applied(2, "delta")
    assert isinstance(applied, Applied)
    assert applied.version == 1


def test_so_it_does_if_the_published_files_were_compacted_away_meanwhile(
    history: History,
) -> None:
    history.increment(rows(1))
    history.increment(rows(2))
    history.publish()
    (history.layout.journal / "000002.delta.json").unlink()
    table = history.delta()
    table.optimize.compact()
    for file in (*history.files(0), *history.files(1)):
        file.unlink()
    report = history.publish("run-2")
    assert report.outcome is Outcome.DONE
    assert history.ids() == [1, 2]


def test_an_old_table_beside_a_new_ledger_is_not_taken_for_published(history: History) -> None:
    # Somebody started over and kept the table: its head counts batches that are not in it.
    history.increment(rows(1))
    history.increment(rows(2))
    history.publish()
    for folder in ("increments", "journal", "ledger", "checkpoints"):
        shutil.rmtree(history.layout.home / folder)
    shutil.rmtree(history.sink / "_spark_metadata")
    history.increment(rows(3, 4))
    report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "HeadUnexplained"
    assert report.error["data"]["head"] == 1
    assert history.journal.applied(1, "delta") is None


def test_nothing_to_publish_takes_no_lease(history: History) -> None:
    report = history.publish()
    assert report.outcome is Outcome.DONE
    assert not history.layout.lease.exists()
