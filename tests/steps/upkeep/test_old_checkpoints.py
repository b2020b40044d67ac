"""Checkpoints that a generation left behind, and old snapshots, go after their retention."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.steps.decisions.test_rewind import back_to, rewound
from tests.support.histories.generation_builder import reject_increment
from tests.support.histories.held_recomputation import hold_again
from tests.support.histories.history_builder import rows
from tests.support.histories.moved_history import move
from tests.support.histories.rolled_history import RolledHistory, rolled_over
from tidemill.contract.clock import wall_clock
from tidemill.contract.report import Outcome
from tidemill.generations.checkpoint_snapshot import read_snapshots
from tidemill.generations.verify import open_generation
from tidemill.journal.partition_set import Partitions
from tidemill.journal.takeovers import current
from tidemill.ledger.run_request import fix_request
from tidemill.reporting.checkpoint_batches import read_checkpoint_batches
from tidemill.reporting.pipeline_status import read_status
from tidemill.spark_logs.checkpoint_fork import ForkPointGone
from tidemill.steps.decisions.restore import restore
from tidemill.steps.decisions.rewind import rewind
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.leftover import Leftover
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage.run_context import RunContext

FIRST, SECOND, THIRD = "live-0001", "live-0002", "live-0003"
WHO = {"by": "ada", "reason": "the disk lost the state"}


@pytest.fixture
def rolled(tmp_path: Path) -> RolledHistory:
    return rolled_over(tmp_path / "pipeline")


def in_days(history: RolledHistory, days: int) -> RunContext:
    return RunContext(
        history.pipeline,
        f"in-{days}-days",
        lambda _: None,
        clock=lambda: wall_clock() + timedelta(days=days),
    )


def paths(found: list[Leftover], *kinds: str) -> list[Path]:
    return [one.path for one in found if one.kind in (kinds or ("checkpoint", "snapshot"))]


def test_what_a_rollover_ended_goes_after_the_retention_and_nothing_misses_it(
    rolled: RolledHistory,
) -> None:
    layout = rolled.layout
    assert paths(plan_vacuum(in_days(rolled, 29))) == []
    removed = vacuum(in_days(rolled, 31))
    assert [(one.kind, one.path) for one in removed] == [("checkpoint", layout.checkpoint(FIRST))]
    assert not layout.checkpoint(FIRST).exists()
    assert layout.note(FIRST).exists()
    assert paths(plan_vacuum(in_days(rolled, 31))) == []
    assert len(read_status(layout, ["delta"]).increments) == 4
    assert perform("doctor", doctor, rolled.run("scheduled-next")).error is None
    assert [one.batch for one in read_checkpoint_batches(layout, 10).batches] == [0, 1, 2, 3]
    rolled.go(5, 6)
    assert (current(layout), rolled.ids()) == (THIRD, [1, 2, 3, 4, 5, 6])
    # The second has run a batch of its own since, the third none.
    assert paths(vacuum(in_days(rolled, 62))) == [layout.checkpoint(SECOND)]
    assert open_generation(rolled.pipeline).committed == 5


def test_a_root_is_moved_without_it(rolled: RolledHistory) -> None:
    vacuum(in_days(rolled, 31))
    moved = move(rolled)
    assert moved.relocate().needed
    assert open_generation(moved.pipeline).committed == 3
    assert moved.ids() == [1, 2, 3, 4]


def test_a_rewind_over_the_rollover_uses_the_live_checkpoint_while_it_remembers(
    rolled: RolledHistory,
) -> None:
    vacuum(in_days(rolled, 31))
    rewound(rolled, back_to("run-2"))
    assert (current(rolled.layout), rolled.ids()) == (THIRD, [1, 2])
    assert doctor(rolled.run("next")).facts["new"] == {"orders": 2}


def test_a_rewind_over_the_rollover_is_refused_where_nothing_remembers(
    rolled: RolledHistory,
) -> None:
    for log in ("offsets", "commits"):
        (rolled.checkpoint / log / "1").unlink()
    fix_request(rolled.layout.run("back"), back_to("run-2"))
    vacuum(in_days(rolled, 31))
    with pytest.raises(ForkPointGone) as refused:
        rewind(rolled.run("back"), back_to("run-2"))
    assert refused.value.batch == 1
    assert "retention.checkpoints" in refused.value.what
    assert (current(rolled.layout), rolled.ids()) == (SECOND, [1, 2, 3, 4])
    # The remedy names it: a later run.
    rewound(rolled, back_to("run-3"), "later")
    assert rolled.ids() == [1, 2, 3]


def test_a_generation_keeps_its_checkpoint_while_a_held_recomputation_stands_for_it(
    rolled: RolledHistory,
) -> None:
    number = hold_again(rolled, Partitions(columns=("day",), values=(("2024-01-01",),)))
    assert rolled.snapshot.get(number).sealed.covers.generation == FIRST
    assert paths(plan_vacuum(in_days(rolled, 400))) == []
    reject_increment(rolled, number)
    assert paths(plan_vacuum(in_days(rolled, 400))) == [rolled.layout.checkpoint(FIRST)]


@pytest.fixture
def kept(tmp_path: Path) -> RolledHistory:
    """Three increments with a snapshot after each: one today, one in 60 days, one in 70."""
    history = RolledHistory(tmp_path / "pipeline")
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    for number, later in ((1, 0), (2, 60), (3, 70)):
        history.go(number)
        keep_snapshot(in_days(history, later), "ada")
    return history


def test_old_snapshots_go_and_the_newest_stays(kept: RolledHistory) -> None:
    folder = kept.layout.snapshots
    assert paths(plan_vacuum(in_days(kept, 89))) == []
    first = [folder / "000001.json", folder / "000001"]
    assert paths(vacuum(in_days(kept, 91))) == first
    assert [one.number for one in read_snapshots(kept.layout)] == [2, 3]
    assert paths(vacuum(in_days(kept, 1000))) == [folder / "000002.json", folder / "000002"]
    assert keep_snapshot(kept.run("keep"), "ada").number == 4
    assert paths(vacuum(in_days(kept, 1001))) == [folder / "000003.json", folder / "000003"]
    kept.batch(rows(4))
    shutil.rmtree(kept.checkpoint)
    restore(kept.run("restore"), 4, **WHO)
    assert (open_generation(kept.pipeline).committed, kept.ids()) == (2, [1, 2, 3])


def _before_its_document(layout_folder: Path) -> None:
    (layout_folder / "000009" / "checkpoint").mkdir(parents=True)
    (layout_folder / "000009" / "checkpoint" / "metadata").write_text("{}")


def _after_its_document(layout_folder: Path) -> None:
    (layout_folder / "000001.json").unlink()


@pytest.mark.parametrize(
    ("killed", "name"), [(_before_its_document, "000009"), (_after_its_document, "000001")]
)
def test_half_a_snapshot_goes_at_once(
    kept: RolledHistory, killed: Callable[[Path], None], name: str
) -> None:
    killed(kept.layout.snapshots)
    assert paths(vacuum(kept.run("now"))) == [kept.layout.snapshots / name]
    assert kept.go(4).outcome is Outcome.DONE
    assert keep_snapshot(kept.run("keep"), "ada").number == 4
