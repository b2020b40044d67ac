"""Vacuum removes what nothing names and nothing needs, and leaves everything else."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again, reject_increment
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.left_behind import (
    LONG_AGO,
    a_human_decision,
    age,
    leave_behind,
    look_alikes,
)
from tests.support.histories.spark_log_builder import write_commit
from tests.support.table_reader import tree
from tidemill.contract.report import Outcome
from tidemill.generations.build import begin_build
from tidemill.ledger.run_increment import remember
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.reporting.pipeline_status import read_status
from tidemill.spark_logs.compactible_log import GapInSinkLog
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.leftover import Leftover, remove
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage import epoch_hint
from tidemill.storage.lease import newest_epoch

SECOND = date(2024, 1, 2)


def paths(found: list[Leftover]) -> dict[str, list[Path]]:
    by_kind = defaultdict[str, list[Path]](list)
    for one in found:
        by_kind[one.kind].append(one.path)
    return {kind: sorted(of) for kind, of in by_kind.items()}


def works(history: History) -> None:
    """Status, doctor and publish work as if nothing had been removed."""
    assert len(read_status(history.layout, ["delta"]).increments) == len(
        history.increments.numbers()
    )
    assert perform("doctor", doctor, history.run("scheduled-next")).error is None
    before = history.ids()
    history.increment(rows(1000))
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [*before, 1000]


def test_leftovers_of_every_kind_are_removed_and_nothing_else(history: History) -> None:
    history.increment(rows(1, 2), [reject("a")])
    history.publish()
    left = leave_behind(history)
    kept = look_alikes(history)
    before = tree(history.layout.home)
    planned = plan_vacuum(history.run("plan"))
    assert paths(planned) == {kind: sorted(of) for kind, of in left.items()}
    assert tree(history.layout.home) == before
    gone = {str(one.relative_to(history.layout.home)) for of in left.values() for one in of}
    removed = vacuum(history.run("vacuum"))
    # The epoch of the vacuum itself makes one more of them too old.
    assert paths(removed).keys() == left.keys()
    after = tree(history.layout.home)
    lost = {path for path in before if path not in after}
    assert not any(path.exists() for of in left.values() for path in of)
    assert all(path.exists() for path in kept)
    own = {path for path in lost if path.startswith("lease/")}
    assert all(any(f"{path}/".startswith(f"{one}/") for one in gone) for path in lost - own)
    assert (history.ids(), history.records()) == ([1, 2], ["a"])
    works(history)


def test_an_epoch_is_handed_out_once_whatever_was_removed(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    leave_behind(history)
    before = newest_epoch(history.layout.lease)
    vacuum(history.run())
    assert newest_epoch(history.layout.lease) == before + 1
    with history.run().hold("gate") as held:
        assert held.epoch == before + 2
        held.lease.check()


def test_what_increments_and_events_name_stays_however_old(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.publish()
    made_again(history, [row(20, SECOND)], partitions=days("2024-01-02"))
    history.publish("again")
    history.increment(rows(3), [reject("b")], outcome="held")
    made_again(history, [row(30, SECOND)], run_id="waits", partitions=days("2024-01-02"))
    age(history.layout.home)
    before = tree(history.layout.home)
    assert plan_vacuum(history.run()) == []
    vacuum(history.run())
    # It takes an epoch as every writer does, and says so.
    del before[f"lease/{epoch_hint.NAME}"]
    assert before.items() <= tree(history.layout.home).items()
    history.release(3)
    assert history.publish("waits").outcome is Outcome.DONE
    assert history.ids() == [1, 3, 30]


def test_an_unfinished_batch_is_told_from_orphans_by_nothing_so_all_stay(history: History) -> None:
    history.increment(rows(1))
    history.batch(rows(2), commit=False)
    orphan = history.sink / "day=2024-01-01" / "part-00000-dead.parquet"
    orphan.write_bytes(b"PAR1")
    age(history.sink)
    assert plan_vacuum(history.run()) == []


def test_a_damaged_log_refuses_the_whole_vacuum(history: History) -> None:
    history.increment(rows(1))
    history.increment(rows(2))
    history.increment(rows(3))
    leave_behind(history)
    (history.sink / "_spark_metadata" / "1").unlink()
    before = tree(history.layout.home)
    with pytest.raises(GapInSinkLog):
        vacuum(history.run())
    del before[f"lease/{epoch_hint.NAME}"]
    assert before.items() <= tree(history.layout.home).items()


def test_a_run_that_has_something_left_to_do_keeps_its_folder(history: History) -> None:
    held = history.increment(rows(1), outcome="held")
    runs_folder = history.layout.runs
    names = (
        "a-first",
        "decision",
        "other-run-of-it",
        "over",
        "over-backfill",
        "reprocessed-run",
        "builder",
    )
    for name in names:
        (runs_folder / name).mkdir()
    a_human_decision(history, "decision")
    # Killed between its seal and the note in its folder.
    history.batch(rows(2))
    history.judge(history.seal("sealed-and-killed").increment, "held")
    (runs_folder / "sealed-and-killed" / "increment.json").unlink()
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    begin_build(history.pipeline, "rebuild", "builder")
    remember(runs_folder / "other-run-of-it", held)
    fix_request(runs_folder / "over-backfill", RunRequest(role="backfill", by="ann", reason="x"))
    (runs_folder / "reprocessed-run" / "reprocessed").mkdir()
    for place, folder in enumerate(sorted(runs_folder.iterdir())):
        for one in (*folder.rglob("*"), folder):
            os.utime(one, (LONG_AGO + place, LONG_AGO + place))
    for number in range(3):
        (runs_folder / f"newer-{number}").mkdir()
    assert paths(plan_vacuum(history.run(), kept=3)) == {
        "run": [runs_folder / "over", runs_folder / "over-backfill"]
    }


def test_a_run_goes_whose_recomputation_was_rejected(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    number = made_again(history, rows(2), run_id="again", partitions=days("2024-01-01"))
    folder = history.layout.run("again")
    remember(folder, number)
    fix_request(folder, RunRequest(role="backfill", by="ann", reason="x"))
    runs_folder = history.layout.runs
    for place, name in enumerate(("a-first", "again")):
        (runs_folder / name).mkdir(exist_ok=True)
        age(runs_folder / name)
        os.utime(runs_folder / name, (LONG_AGO + place, LONG_AGO + place))
    (runs_folder / "newest").mkdir()
    assert "run" not in paths(plan_vacuum(history.run(), kept=1))
    reject_increment(history, number)
    assert paths(plan_vacuum(history.run(), kept=1))["run"] == [folder]


def test_a_leftover_that_is_used_meanwhile_stays(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    folder = leave_behind(history)["run"][0]
    (planned,) = [one for one in plan_vacuum(history.run()) if one.path == folder]
    (folder / "ingest.json").write_text("{}")
    assert not remove(history.layout, planned)
    assert (folder / "doctor.json").exists()


def test_files_that_only_sparks_log_names_stay(history: History) -> None:
    history.increment(rows(1))
    for number in (1, 2):
        history.batch(rows(number + 1), commit=False)
    for number in (1, 2):
        write_commit(history.checkpoint, number)
    age(history.layout.home)
    assert plan_vacuum(history.run()) == []
    history.ledger.complete()
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    assert history.ids() == [1, 2, 3]
