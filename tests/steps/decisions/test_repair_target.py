"""A target that was set back is refused by name, and one command gives it back what it lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.support.doctor_report import look, refused
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, rows
from tests.support.remedies import carry_out
from tidemill.contract.errors import ExitCode, Refused, UsageError
from tidemill.contract.report import Outcome
from tidemill.publish.target_heads import TargetAheadOfJournal, verify_tables
from tidemill.steps.decisions.repair_target import VersionGone, plan_repair, repair_target

BOTH = "publish: [{kind: delta}, {kind: files}]"


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Three increments in two targets, each with a row that was rejected."""
    history = History(tmp_path / "pipeline", more=BOTH)
    for number in (1, 2, 3):
        history.increment(rows(number), [reject(f"bad {number}")])
        history.publish()
    return history


def newest(table: Path) -> Path:
    return max((table / "_delta_log").glob("*.json"))


def older(table: Path) -> None:
    """What a backup from before the last event brings back."""
    newest(table).unlink()


def torn(table: Path) -> None:
    os.truncate(newest(table), 0)


def half(table: Path) -> None:
    os.truncate(newest(table), newest(table).stat().st_size // 2)


def restored(table: Path) -> None:
    DeltaTable(table).restore(0)


def log_gone(table: Path) -> None:
    shutil.rmtree(table / "_delta_log")


def repair(history: History, target: str) -> None:
    repair_target(history.pipeline, target, "repair", lambda _: None)


@pytest.mark.parametrize("loss", [torn, half, older, restored, log_gone])
@pytest.mark.parametrize("target", ["delta", "rejected"])
def test_a_table_that_was_set_back_is_refused_until_it_is_repaired(
    history: History, target: str, loss: Callable[[Path], None]
) -> None:
    ids, records = history.ids(), history.records()
    assert look(history).outcome is Outcome.SKIPPED
    loss(history.layout.rejected if target == "rejected" else history.layout.table)
    code, data = refused(history)
    assert (code, data["target"], data["recorded"]) == ("TargetBehindJournal", target, 3)
    repair(history, target)
    history.publish()
    assert (history.ids(), history.records()) == (ids, records)
    assert look(history).outcome is Outcome.SKIPPED
    history.increment(rows(4))
    history.publish()
    assert history.ids() == [*ids, 4]


def test_all_of_a_rejected_table_that_is_gone_is_written_anew(history: History) -> None:
    records = history.records()
    shutil.rmtree(history.layout.rejected)
    assert refused(history)[1]["target"] == "rejected"
    repair(history, "rejected")
    assert history.records() == records
    assert look(history).outcome is Outcome.SKIPPED


def test_a_list_of_files_that_is_gone_is_written_anew(history: History) -> None:
    lists = history.layout.published
    content = (lists / "000002.json").read_bytes()
    (lists / "000002.json").unlink()
    code, data = refused(history)
    assert (code, data["target"], data["head"]) == ("TargetBehindJournal", "files", 1)
    repair(history, "files")
    history.publish()
    written = json.loads((lists / "000002.json").read_bytes())
    assert written["files"] == json.loads(content)["files"]
    assert look(history).outcome is Outcome.SKIPPED


def test_swaps_are_applied_again_in_their_place(history: History) -> None:
    made_again(history, rows(20), partitions=days("2024-01-01"))
    history.publish()
    ids = history.ids()
    log_gone(history.layout.table)
    repair(history, "delta")
    history.publish()
    assert history.ids() == ids


def test_rejected_rows_that_a_swap_replaced_do_not_come_back(history: History) -> None:
    history.increment(rejected=[reject("bad day", day="2024-01-02")])
    history.publish()
    made_again(history, rows(20), [reject("still bad")], partitions=days("2024-01-02"))
    history.publish("again")
    records = history.records()
    assert "bad day" not in records
    shutil.rmtree(history.layout.rejected)
    repair(history, "rejected")
    assert history.records() == records


def test_commits_of_others_are_passed_over(history: History) -> None:
    history.delta().optimize.compact()
    history.delta().vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert look(history).outcome is Outcome.SKIPPED


def test_a_journal_that_was_set_back_is_refused(history: History) -> None:
    for file in history.layout.journal.glob("000003.*"):
        file.unlink()
    with pytest.raises(TargetAheadOfJournal) as error:
        verify_tables(history.pipeline)
    assert (error.value.head, error.value.newest) == (3, 2)


def test_only_the_newest_entry_of_each_log_is_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in (history.layout.table, history.layout.rejected):
        for entry in sorted((table / "_delta_log").glob("*.json"))[:-1]:
            entry.write_bytes(b"nobody reads this")
    verify_tables(history.pipeline)


def test_what_is_to_be_done_is_said_and_nothing_done(history: History) -> None:
    torn(history.layout.table)
    found = plan_repair(history.pipeline, "delta")
    assert (found.torn, found.events) == ((newest(history.layout.table),), (3,))
    assert len(list(found.steps)) == 2
    assert refused(history)[0] == "TargetBehindJournal"


def test_a_target_that_lost_nothing_needs_no_repair(history: History) -> None:
    assert plan_repair(history.pipeline, "delta").problem is None


def test_a_target_that_nobody_knows_is_wrong_usage(history: History) -> None:
    with pytest.raises(UsageError) as error:
        plan_repair(history.pipeline, "detla")
    assert error.value.known == ["rejected", "delta", "files"]


def test_files_that_are_gone_are_found_before_anything_is_done(history: History) -> None:
    log_gone(history.layout.table)
    history.files(0)[0].unlink()
    with pytest.raises(Refused) as error:
        plan_repair(history.pipeline, "delta")
    assert error.value.code == "BooksDisagree"


@pytest.mark.remedy("VersionGone")
def test_a_version_that_cannot_come_back_names_the_other_way(history: History) -> None:
    restored(history.layout.table)
    history.delta().vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
    )
    for number in (1, 2):
        for file in history.files(number):
            file.rename(file.with_suffix(".away"))
    with pytest.raises(VersionGone) as refusal:
        repair(history, "delta")
    for away in history.sink.rglob("*.away"):
        away.rename(away.with_suffix(".parquet"))
    log_gone(history.layout.table)
    carry_out(history, refusal.value.remedy, "target repair")
    history.publish()
    assert history.ids() == [1, 2, 3]


@pytest.mark.remedy("TargetBehindJournal")
def test_the_command_says_it_and_does_it(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from tidemill.cli.app import app

    for name, value in history.environ.items():
        monkeypatch.setenv(name, value)
    torn(history.layout.table)
    command = ["target", "repair", "orders", "delta", "--json"]
    asked = CliRunner().invoke(app, command)
    assert (asked.exit_code, refused(history)[0]) == (ExitCode.USAGE, "TargetBehindJournal")
    done = CliRunner().invoke(app, [*command, "--yes"])
    assert done.exit_code == ExitCode.DONE
    assert json.loads(done.stdout)["events"] == [3]
    history.publish()
    assert look(history).outcome is Outcome.SKIPPED
